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

/** Queue form: one JSON line. `data` travels as a string, so its bytes do not change. */
export function encodeJob(job: DeliverJob): string {
  return JSON.stringify({
    t: job.tenant,
    c: job.conversationId.toString(),
    m: job.changeId.toString(),
    p: job.prevChangeId.toString(),
    k: job.kind,
    a: job.actorId.toString(),
    x: job.excludeDevice.toString(),
    n: job.notPush ? 1 : 0,
    d: job.data,
  });
}

/** @throws {SyntaxError | TypeError} when it is not a job; the caller treats such a line as poison */
export function decodeJob(text: string): DeliverJob {
  const raw = JSON.parse(text) as Record<'t' | 'c' | 'm' | 'p' | 'a' | 'x' | 'd', string> & { k: ChangeKind; n: number };
  return {
    tenant: raw.t,
    conversationId: BigInt(raw.c),
    changeId: BigInt(raw.m),
    prevChangeId: BigInt(raw.p),
    kind: raw.k,
    actorId: BigInt(raw.a),
    excludeDevice: BigInt(raw.x),
    notPush: raw.n === 1,
    data: raw.d,
  };
}
