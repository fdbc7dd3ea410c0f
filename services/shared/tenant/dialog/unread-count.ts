import type { Queryable, Tx } from '#shared/platform/mysql/database.ts';
import type { RebuiltUser } from '../deliver/dialog-lists.ts';

/**
 * Unread of (user, conversation) at position P: messages of others above the read mark and inside the member interval that contains P,
 * not recalled or hidden by a change at or below P. This file is the one definition in SQL. Mark and P bound the range of the index;
 * inside a GREATEST they would not, and every count would read the whole conversation.
 */
const COUNT = `
  SELECT COUNT(*) AS unread FROM t_member_intervals i
    JOIN t_messages m FORCE INDEX (idx_conversation_id)
      ON m.conversation_id = i.conversation_id AND m.id > ? AND m.id > i.join_change_id AND m.id <= ?
     AND m.sender_id <> i.user_id AND (m.status = 1 OR m.status_change_id > ?)
   WHERE i.conversation_id = ? AND i.user_id = ? AND i.join_change_id <= ? AND (i.left_change_id IS NULL OR i.left_change_id > ?)`;

export async function unreadAt(db: Queryable, conversationId: bigint, userId: bigint, mark: bigint, position: bigint): Promise<number> {
  const params = [mark, position, position, conversationId, userId, position, position];
  const [row] = await db.select<{ unread: string | number }>(COUNT, params);
  return Number(row?.unread ?? 0);
}

const MEMBERS = `
  SELECT m.user_id, m.last_read_msg_id, m.muted,
         EXISTS (SELECT 1 FROM t_member_intervals i
                  WHERE i.conversation_id = m.conversation_id AND i.user_id = m.user_id
                    AND i.join_change_id <= ? AND (i.left_change_id IS NULL OR i.left_change_id > ?)) AS is_in
    FROM t_conversation_members m WHERE m.conversation_id = ? ORDER BY m.user_id`;

/** Everybody who ever was a member as he is at `head`. Call it inside a snapshot transaction. */
export async function usersAt(tx: Tx, conversationId: bigint, head: bigint): Promise<readonly RebuiltUser[]> {
  const rows = await tx.select<{ user_id: string; last_read_msg_id: string; muted: number; is_in: string }>(MEMBERS, [
    head,
    head,
    conversationId,
  ]);
  const users: RebuiltUser[] = [];
  for (const row of rows) {
    const [userId, mark] = [BigInt(row.user_id), BigInt(row.last_read_msg_id)];
    const isGone = row.is_in === '0'; // the driver gives computed integers as text
    const unread = mark >= head || isGone ? 0 : await unreadAt(tx, conversationId, userId, mark, head);
    users.push({ userId, mark, unread, isGone, isMuted: row.muted === 1 });
  }
  return users;
}
