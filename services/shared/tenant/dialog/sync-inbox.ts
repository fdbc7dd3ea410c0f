import type { Database } from '#shared/platform/mysql/database.ts';
import type { DialogLists, SyncedDialog } from '../deliver/dialog-lists.ts';
import { mailboxAfter } from '../mailbox/mailbox-store.ts';
import type { MailboxEvent } from '../mailbox/mailbox-store.ts';

export interface InboxCursors {
  readonly dialogScore: bigint;
  readonly mailboxSeq: bigint;
}

export interface InboxPage {
  readonly syncEpoch: string;
  readonly dialogs: readonly (SyncedDialog & { readonly type: number; readonly lastMsgId: string })[];
  readonly events: readonly MailboxEvent[];
  /** Where the next page, or the next sync, begins. */
  readonly cursors: InboxCursors;
  readonly hasMore: boolean;
}

const CURSORS = 'SELECT mailbox_seq, dialog_score FROM t_device_sync_cursors WHERE user_id = ? AND device_id = ?';
const STORE = `
  INSERT INTO t_device_sync_cursors (user_id, device_id, mailbox_seq, dialog_score, updated_at) VALUES (?, ?, ?, ?, ?) AS n
  ON DUPLICATE KEY UPDATE mailbox_seq = n.mailbox_seq, dialog_score = n.dialog_score, updated_at = n.updated_at`;
const CONVERSATIONS = 'SELECT id, type, last_msg_id FROM t_conversations WHERE id IN (?)';
const EPOCH = "SELECT value FROM t_tenant_state WHERE name = 'sync_epoch'";

/** Changes when the store was restored from a backup; clients then start from cursor 0. */
export async function syncEpoch(db: Database): Promise<string> {
  const [row] = await db.select<{ value: Buffer }>(EPOCH);
  return row?.value.toString('latin1') ?? '';
}

/** The cursors that the device finished last; zeros for a new device. @see SYN-07 */
export async function storedCursors(db: Database, userId: bigint, deviceId: bigint): Promise<InboxCursors> {
  const [row] = await db.select<{ mailbox_seq: string; dialog_score: string }>(CURSORS, [userId, deviceId]);
  return { mailboxSeq: BigInt(row?.mailbox_seq ?? 0), dialogScore: BigInt(row?.dialog_score ?? 0) };
}

/**
 * The first level of sync: conversations whose entry changed after the score, and mailbox events after the sequence number.
 *
 * @see SYN-01 .. SYN-03
 */
export async function syncInbox(
  { db, lists }: { db: Database; lists: DialogLists },
  { userId, deviceId }: { userId: bigint; deviceId: bigint },
  from: InboxCursors,
  limit: number,
): Promise<InboxPage> {
  const dialogs = await lists.changedSince(userId, from.dialogScore, limit);
  const events = await mailboxAfter(db, userId, deviceId, from.mailboxSeq, limit);
  const rows =
    dialogs.length === 0
      ? []
      : await db.select<{ id: string; type: number; last_msg_id: string }>(CONVERSATIONS, [
          dialogs.map((dialog) => BigInt(dialog.conversationId)),
        ]);
  const known = new Map(rows.map((row) => [row.id, row]));
  return {
    syncEpoch: await syncEpoch(db),
    dialogs: dialogs.map((dialog) => ({
      ...dialog,
      type: known.get(dialog.conversationId)?.type ?? 0,
      lastMsgId: dialog.left ? '0' : (known.get(dialog.conversationId)?.last_msg_id ?? '0'),
    })),
    events,
    cursors: { dialogScore: BigInt(dialogs.at(-1)?.score ?? from.dialogScore), mailboxSeq: events.at(-1)?.seq ?? from.mailboxSeq },
    hasMore: dialogs.length === limit || events.length === limit,
  };
}

/** The device has everything up to here. */
export async function finishInbox(
  db: Database,
  userId: bigint,
  deviceId: bigint,
  { mailboxSeq, dialogScore }: InboxCursors,
): Promise<void> {
  await db.change(STORE, [userId, deviceId, mailboxSeq, dialogScore, new Date()]);
}
