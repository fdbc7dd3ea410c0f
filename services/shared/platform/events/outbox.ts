import { crc32 } from 'node:zlib';
import type { CommandResult, Envelope } from '#shared/contract/envelope.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Tx } from '../mysql/database.ts';
import type { Wake } from './wake.ts';

/** Rows of one order key are in one shard; a shard is what one relay reads in the order of its ids. */
export const OUTBOX_SHARDS = 16;

/** Below the broker's message.max.bytes (1 MiB) with room for key and headers. */
const MAX_VALUE_BYTES = 900_000;

export interface OutboxTable {
  /** A table with the columns of im_kafka_outbox. */
  readonly table: string;
  /** Tells the relay of that database. Runs after commit. */
  wake(database: string): void;
}

/** @param keyPrefix in front of the wake list's key, for tests that share a Redis */
export function openOutbox(table: string, wake: Wake, keyPrefix = ''): OutboxTable {
  return { table, wake: (database) => wake(outboxWakeKey(database, keyPrefix)) };
}

export function outboxWakeKey(database: string, keyPrefix = ''): string {
  return `${keyPrefix}wake:outbox:${database}`;
}

export interface OutboxEvent {
  readonly topic: string;
  /** Events of one key keep the order of their commits: whoever inserts one holds the lock of the object it names. */
  readonly orderKey: string;
  readonly envelope: Envelope | CommandResult;
}

/**
 * Queues an event in the transaction of the change it tells about. After the commit the relay is woken.
 *
 * @throws {Refusal} TOO_LARGE: the broker would never take it, so the transaction must not commit with it
 * @see OBX-07
 */
export async function appendOutbox(tx: Tx, outbox: OutboxTable, { topic, orderKey, envelope }: OutboxEvent): Promise<void> {
  const value = Buffer.from(JSON.stringify(envelope));
  if (value.byteLength > MAX_VALUE_BYTES) {
    throw new Refusal('TOO_LARGE', `an event may have ${MAX_VALUE_BYTES} bytes`, { topic, bytes: value.byteLength });
  }
  await tx.change(
    `INSERT INTO ${outbox.table} (shard, topic, order_key, event_id, envelope, trace_id, next_retry_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, NOW(3), NOW(3))`,
    [shardOf(orderKey), topic, orderKey, envelope.event_id, value, envelope.trace_id],
  );
  tx.afterCommit(() => outbox.wake(tx.database));
}

export function shardOf(orderKey: string): number {
  return crc32(orderKey) % OUTBOX_SHARDS;
}
