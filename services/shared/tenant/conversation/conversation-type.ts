import type { Queryable } from '#shared/platform/mysql/database.ts';

const TYPE = 'SELECT type FROM t_conversations WHERE id = ?';

/** CONVERSATION_TYPES of a conversation; it never changes. 0 when there is none. */
export async function conversationType(db: Queryable, conversationId: bigint): Promise<number> {
  const [row] = await db.select<{ type: number }>(TYPE, [conversationId]);
  return row?.type ?? 0;
}
