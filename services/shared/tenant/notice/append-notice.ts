import { ulid } from 'ulid';
import type { Tx } from '#shared/platform/mysql/database.ts';

export type NoticeKind = 'READ' | 'EVENT' | 'KICK' | 'FRIEND';

/** Something that people are told about a change that has happened. It commits with the change (OBX-14). */
export interface NewNotice {
  readonly kind: NoticeKind;
  /** Notices of one key reach people in the order they were committed. Who inserts holds the lock of the object it names. */
  readonly orderKey: string;
  readonly conversationId?: bigint;
  /** Whom it is for; without it the members of the conversation. */
  readonly userId?: bigint;
  /** The device that knows already. */
  readonly excludeDevice?: bigint;
  /** The data of the frame. */
  readonly payload: object;
  readonly traceId: string;
}

const INSERT = `
  INSERT INTO im_business_events_outbox
    (event_id, kind, order_key, conversation_id, user_id, exclude_device, payload, trace_id, next_retry_at, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/**
 * Adds a notice to the transaction. `wake` runs after commit, so that the worker need not wait for its poll.
 *
 * @returns the notice's event id
 */
export async function appendNotice({ wake }: { wake: () => void }, tx: Tx, notice: NewNotice): Promise<string> {
  const eventId = `evt_${ulid()}`;
  const now = new Date();
  await tx.change(INSERT, [
    eventId,
    notice.kind,
    notice.orderKey,
    notice.conversationId ?? 0n,
    notice.userId ?? 0n,
    notice.excludeDevice ?? 0n,
    Buffer.from(JSON.stringify(notice.payload)),
    notice.traceId,
    now,
    now,
  ]);
  tx.afterCommit(wake);
  return eventId;
}

/** The list that wakes the notice worker of a tenant database. */
export function noticeWakeKey(base: string, database: string): string {
  return `${base}wake:notices:${database}`;
}
