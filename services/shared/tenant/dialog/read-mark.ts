import type { Queryable } from '#shared/platform/mysql/database.ts';

const MARK = 'SELECT last_read_msg_id FROM t_conversation_members WHERE conversation_id = ? AND user_id = ?';

/** How far a user has read a conversation, by MySQL, which is the truth (MSG-51); undefined when he never was a member. */
export async function readMarkOf(db: Queryable, conversationId: bigint, userId: bigint): Promise<bigint | undefined> {
  const [row] = await db.select<{ last_read_msg_id: string }>(MARK, [conversationId, userId]);
  return row === undefined ? undefined : BigInt(row.last_read_msg_id);
}
