import { Refusal } from '#shared/contract/reasons.ts';
import { MAX_ID } from '#shared/contract/ids.ts';
import type { Queryable } from '#shared/platform/mysql/database.ts';

/** What a user may see of a conversation: changes with from < id <= upTo. Several when he left and came back, oldest first. */
export interface VisibleWindow {
  readonly from: bigint;
  readonly upTo: bigint;
}

const INTERVALS = `
  SELECT join_change_id, left_change_id FROM t_member_intervals WHERE conversation_id = ? AND user_id = ? ORDER BY join_change_id`;

/**
 * The windows of a user in a conversation: from the point he joined to the point he left.
 *
 * @throws {Refusal} NOT_A_MEMBER when he never was one
 * @see G-56
 */
export async function visibleWindows(db: Queryable, conversationId: bigint, userId: bigint): Promise<readonly VisibleWindow[]> {
  const rows = await db.select<{ join_change_id: string; left_change_id: string | null }>(INTERVALS, [conversationId, userId]);
  if (rows.length === 0) throw new Refusal('NOT_A_MEMBER', 'you are not a member of this conversation');
  return rows.map((row) => ({ from: BigInt(row.join_change_id), upTo: row.left_change_id === null ? MAX_ID : BigInt(row.left_change_id) }));
}
