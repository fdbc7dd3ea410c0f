import type { ChangeKind } from '#shared/contract/commands.ts';

/**
 * One change of one conversation that waits to be delivered. What a job lacks is read from MySQL, so a job may also be only the ids.
 *
 * @see DLV-04
 */
export interface DeliverJob {
  readonly tenant: string;
  readonly conversationId: bigint;
  readonly changeId: bigint;
  readonly prevChangeId: bigint;
  readonly kind: ChangeKind;
  /** Who caused it; his own message adds nothing to his unread. */
  readonly actorId: bigint;
  /** The device that must not get the frame back (0 = none). */
  readonly excludeDevice: bigint;
  readonly notPush: boolean;
  /** MESSAGE: the data of the frame as JSON text, exactly what clients get. Other kinds: the payload of the change. Empty = read it. */
  readonly data: string;
}

/** Queue form: a line of plain fields, then the data as it is. Cheap to write and nothing in it is escaped twice. */
export function encodeJob(job: DeliverJob): string {
  const { tenant, conversationId, changeId, prevChangeId, kind, actorId, excludeDevice, notPush, data } = job;
  return `1 ${tenant} ${conversationId.toString()} ${changeId.toString()} ${prevChangeId.toString()} ${String(kind)} ${actorId.toString()} ${excludeDevice.toString()} ${notPush ? '1' : '0'}\n${data}`;
}

const HEAD = /^1 ([a-z0-9_-]+) (\d+) (\d+) (\d+) ([1-7]) (\d+) (\d+) ([01])$/;

/** @throws {Error} when it is not a job; such a line is poison, whoever wrote it */
export function decodeJob(text: string): DeliverJob {
  const end = text.indexOf('\n');
  const [, tenant, conversation, change, prev, kind, actor, device, notPush] = HEAD.exec(text.slice(0, Math.max(end, 0))) ?? [];
  if (tenant === undefined || notPush === undefined) throw new Error('not a deliver job');
  return {
    tenant,
    conversationId: BigInt(conversation ?? ''),
    changeId: BigInt(change ?? ''),
    prevChangeId: BigInt(prev ?? ''),
    kind: Number(kind) as ChangeKind,
    actorId: BigInt(actor ?? ''),
    excludeDevice: BigInt(device ?? ''),
    notPush: notPush === '1',
    data: text.slice(end + 1),
  };
}
