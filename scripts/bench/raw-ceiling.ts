import { applySchema } from '#scripts/migrate/apply-schema.ts';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import type { MysqlLogin } from '#shared/platform/mysql/database.ts';
import { Lane } from '#shared/platform/mysql/lane.ts';
import { closingPacket } from '#shared/tenant/message/batch-sql.ts';
import type { NumberedMessage } from '#shared/tenant/message/batch-sql.ts';
import { contentHash } from '#shared/tenant/message/new-message.ts';

export interface RawCeiling {
  readonly batch: number;
  readonly connections: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
}

const BATCH = 200;
const CONNECTIONS = 2;
const CONVERSATIONS = 50;
const CONTENT = Buffer.from(JSON.stringify({ t: 1, text: 'x'.repeat(64) }));
const HASH = contentHash(1, CONTENT);

/**
 * What MySQL stores at most when nobody asks it anything: batches of messages with the writer's own closing statements, one transaction in
 * one packet, on two connections, into a database of its own that is dropped afterwards.
 */
export async function measureRawCeiling(login: MysqlLogin, database: string, seconds: number): Promise<RawCeiling> {
  const administrator = await openConnection(login);
  try {
    await applySchema(administrator, 'tenant', database);
    const lanes = Array.from({ length: CONNECTIONS }, () => new Lane(login, database));
    try {
      return await fill(lanes, seconds);
    } finally {
      await Promise.all(lanes.map((lane) => lane.close()));
    }
  } finally {
    await administrator.change(`DROP DATABASE IF EXISTS ${database}`);
    await administrator.close();
  }
}

async function fill(lanes: readonly Lane[], seconds: number): Promise<RawCeiling> {
  let lastId = 1_000_000n;
  let rows = 0;
  const began = performance.now();
  const ends = began + seconds * 1_000;
  const work = async (lane: Lane, n: number): Promise<void> => {
    while (performance.now() < ends) {
      const batch = Array.from({ length: BATCH }, (_, at) =>
        numbered((lastId += 1n), BigInt(1 + n * CONVERSATIONS + (at % CONVERSATIONS))),
      );
      await lane.packet([{ sql: 'BEGIN', params: [] }, ...closingPacket(batch)]);
      rows += BATCH;
    }
  };
  await Promise.all(lanes.map(work));
  const taken = (performance.now() - began) / 1_000;
  return { batch: BATCH, connections: lanes.length, seconds: Math.round(taken * 100) / 100, rowsPerSecond: Math.round(rows / taken) };
}

function numbered(id: bigint, conversationId: bigint): NumberedMessage {
  const message = {
    conversationId,
    senderId: conversationId,
    senderDeviceId: conversationId,
    clientMsgId: id.toString().padStart(36, '0'),
    messageType: 1,
    content: CONTENT,
    hash: HASH,
    notPush: false,
  };
  return { message, id, prevMsgId: id - 1n, prevChangeId: id - 1n, storedAt: new Date() };
}
