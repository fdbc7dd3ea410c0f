import type { Queryable } from '#shared/platform/mysql/database.ts';

// Closed at both ends: who leaves is told so, and who joins too.
const AT = `
  SELECT user_id FROM t_member_intervals
   WHERE conversation_id = ? AND join_change_id <= ? AND (left_change_id IS NULL OR left_change_id >= ?) ORDER BY user_id`;
const EVER = 'SELECT DISTINCT user_id FROM t_member_intervals WHERE conversation_id = ? ORDER BY user_id';

/** Everybody who is concerned by a change: members at that point of the chain, ascending. */
export async function recipientsAt(db: Queryable, conversationId: bigint, changeId: bigint): Promise<readonly bigint[]> {
  const rows = await db.select<{ user_id: string }>(AT, [conversationId, changeId, changeId]);
  return rows.map((row) => BigInt(row.user_id));
}

/** Everybody who ever was a member, ascending. */
export async function membersEver(db: Queryable, conversationId: bigint): Promise<readonly bigint[]> {
  const rows = await db.select<{ user_id: string }>(EVER, [conversationId]);
  return rows.map((row) => BigInt(row.user_id));
}
