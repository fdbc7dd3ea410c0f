import { MAILBOX_EVENTS } from '#shared/contract/commands.ts';
import type { Database, Queryable, Tx } from '#shared/platform/mysql/database.ts';

export interface MailboxEvent {
  readonly seq: bigint;
  readonly eventType: number;
  readonly conversationId: bigint;
  readonly changeId: bigint;
  readonly payload: string;
}

/** A device that could not be pushed to and has to fetch one conversation. */
export interface Missed {
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly conversationId: bigint;
}

// One sequence a user, advanced under its row lock: a lower number can never commit after a higher one was read.
const NEXT_SEQ = `
  INSERT INTO t_mailbox_seqs (user_id, seq) VALUES (?, LAST_INSERT_ID(1)) AS n
  ON DUPLICATE KEY UPDATE seq = LAST_INSERT_ID(t_mailbox_seqs.seq + 1)`;
// The mark that the device has not fetched yet is as good as a new one.
const UNFETCHED = `
  SELECT 1 AS found FROM t_mailbox_events e LEFT JOIN t_device_sync_cursors c ON c.user_id = e.user_id AND c.device_id = e.device_id
   WHERE e.user_id = ? AND e.device_id = ? AND e.event_type = ? AND e.conversation_id = ? AND e.change_id = 0 AND e.seq > COALESCE(c.mailbox_seq, 0)`;
const MARK = `
  INSERT INTO t_mailbox_events (user_id, device_id, seq, event_type, conversation_id, change_id, created_at)
  VALUES (?, ?, ?, ?, ?, 0, ?) AS n
  ON DUPLICATE KEY UPDATE seq = n.seq, created_at = n.created_at`;
const AFTER = `
  SELECT seq, event_type, conversation_id, change_id, payload FROM t_mailbox_events
   WHERE user_id = ? AND device_id IN (0, ?) AND seq > ? ORDER BY seq LIMIT ?`;
const DEVICES = 'SELECT user_id, device_id FROM t_devices WHERE user_id IN (?)';

/**
 * Leaves one dirty mark per (user, device, conversation): "fetch this conversation". Marks that wait already are left as they are.
 *
 * @see MBX-05
 */
export async function markMissed(db: Database, missed: readonly Missed[]): Promise<void> {
  for (const each of [...missed].sort((one, other) => (one.userId < other.userId ? -1 : 1))) {
    await db.transaction((tx) => markOne(tx, each));
  }
}

async function markOne(tx: Tx, { userId, deviceId, conversationId }: Missed): Promise<void> {
  const found = await tx.select(UNFETCHED, [userId, deviceId, MAILBOX_EVENTS.MISSED_MESSAGE, conversationId]);
  if (found.length > 0) return;
  const { insertId: seq } = await tx.change(NEXT_SEQ, [userId]);
  await tx.change(MARK, [userId, deviceId, seq, MAILBOX_EVENTS.MISSED_MESSAGE, conversationId, new Date()]);
}

/** Events of a device and of all devices of its user above a sequence number, in order. */
export async function mailboxAfter(
  db: Queryable,
  userId: bigint,
  deviceId: bigint,
  seq: bigint,
  limit: number,
): Promise<readonly MailboxEvent[]> {
  const rows = await db.select<{ seq: string; event_type: number; conversation_id: string; change_id: string; payload: Buffer | null }>(
    AFTER,
    [userId, deviceId, seq, limit],
  );
  return rows.map((row) => ({
    seq: BigInt(row.seq),
    eventType: row.event_type,
    conversationId: BigInt(row.conversation_id),
    changeId: BigInt(row.change_id),
    payload: row.payload?.toString('utf8') ?? '',
  }));
}

/** The devices that users ever logged in on. */
export async function knownDevices(db: Queryable, userIds: readonly bigint[]): Promise<readonly { userId: bigint; deviceId: bigint }[]> {
  if (userIds.length === 0) return [];
  const rows = await db.select<{ user_id: string; device_id: string }>(DEVICES, [userIds]);
  return rows.map((row) => ({ userId: BigInt(row.user_id), deviceId: BigInt(row.device_id) }));
}
