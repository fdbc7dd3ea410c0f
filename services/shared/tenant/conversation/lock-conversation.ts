import type { Tx } from '#shared/platform/mysql/database.ts';

export interface LockedConversation {
  readonly id: bigint;
  readonly type: number;
  readonly lastMsgId: bigint;
  readonly lastChangeId: bigint;
  readonly memberVersion: bigint;
}

export interface ConversationRow {
  readonly id: string;
  readonly type: number;
  readonly last_msg_id: string;
  readonly last_change_id: string;
  readonly member_version: string;
}

// PRIMARY is forced: the row itself is the mutex, a covering secondary index would lock only its own entry.
const LOCK = `
  SELECT id, type, last_msg_id, last_change_id, member_version FROM t_conversations FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE`;

/**
 * Takes the mutex of a conversation until the transaction ends. Whoever changes messages, members, roles, mutes, friendship or blacklist
 * of it holds this lock, so the chain of changes has one order.
 */
export async function lockConversation(tx: Tx, conversationId: bigint): Promise<LockedConversation | undefined> {
  const [row] = await tx.select<ConversationRow>(LOCK, [conversationId]);
  return row === undefined ? undefined : toConversation(row);
}

export function toConversation(row: ConversationRow): LockedConversation {
  return {
    id: BigInt(row.id),
    type: row.type,
    lastMsgId: BigInt(row.last_msg_id),
    lastChangeId: BigInt(row.last_change_id),
    memberVersion: BigInt(row.member_version),
  };
}
