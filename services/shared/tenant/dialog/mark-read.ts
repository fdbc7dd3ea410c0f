import { externalId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Database, Tx } from '#shared/platform/mysql/database.ts';
import { appendNotice } from '../notice/append-notice.ts';

export interface Read {
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly conversationId: bigint;
  readonly msgId: bigint;
  readonly traceId: string;
}

const MEMBER = `
  SELECT last_read_msg_id FROM t_conversation_members FORCE INDEX (uk_conversation_members)
   WHERE conversation_id = ? AND user_id = ? AND present = 1 FOR UPDATE`;
const MESSAGE = 'SELECT conversation_id FROM t_messages WHERE id = ?';
const ADVANCE = 'UPDATE t_conversation_members SET last_read_msg_id = ? WHERE conversation_id = ? AND user_id = ? AND last_read_msg_id < ?';

/**
 * Moves a member's read mark up to a message; it never moves back. When it moved, the same transaction holds the notice row that owns the
 * step in Redis and tells the user's other devices, so a crash after COMMIT loses neither.
 *
 * @returns the mark after the call, and whether this call moved it
 * @throws {Refusal} NOT_A_MEMBER | RESOURCE_NOT_FOUND (no such message) | INVALID_ARGUMENT (message of another conversation)
 * @see MSG-62 @see MSG-64 @see MSG-65 @see MSG-66 @see MSG-67
 */
export async function markRead(
  deps: { db: Database; wake: () => void },
  read: Read,
): Promise<{ readonly mark: bigint; readonly moved: boolean }> {
  return deps.db.transaction(async (tx) => {
    const [member] = await tx.select<{ last_read_msg_id: string }>(MEMBER, [read.conversationId, read.userId]);
    if (member === undefined) throw new Refusal('NOT_A_MEMBER', 'you are not a member of this conversation');
    await assertMessage(tx, read);
    const { rows } = await tx.change(ADVANCE, [read.msgId, read.conversationId, read.userId, read.msgId]);
    if (rows === 0) return { mark: BigInt(member.last_read_msg_id), moved: false };
    await appendNotice(deps, tx, {
      kind: 'READ',
      orderKey: `read:${externalId('usr', read.userId)}:${read.conversationId.toString()}`,
      conversationId: read.conversationId,
      userId: read.userId,
      excludeDevice: read.deviceId,
      payload: { conversation_id: read.conversationId.toString(), msg_id: read.msgId.toString() },
      traceId: read.traceId,
    });
    return { mark: read.msgId, moved: true };
  });
}

async function assertMessage(tx: Tx, { conversationId, msgId }: Read): Promise<void> {
  const [message] = await tx.select<{ conversation_id: string }>(MESSAGE, [msgId]);
  if (message === undefined) throw new Refusal('RESOURCE_NOT_FOUND', 'no such message');
  if (BigInt(message.conversation_id) !== conversationId) throw new Refusal('INVALID_ARGUMENT', 'the message is of another conversation');
}
