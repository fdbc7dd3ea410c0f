import type { ChangeKind } from '#shared/contract/commands.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Tx } from '#shared/platform/mysql/database.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import type { LockedConversation } from './lock-conversation.ts';

export interface NewChange {
  /** Anything but MESSAGE, which only the writer inserts. */
  readonly kind: ChangeKind;
  readonly msgId?: bigint;
  readonly actorId: bigint;
  /** JSON; ids as decimal strings; no message body. For MEMBER: {joined?: string[], left?: string[]}. */
  readonly payload: object;
}

const INSERT = `
  INSERT INTO t_conversation_changes (conversation_id, change_id, prev_change_id, kind, msg_id, actor_id, payload, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const ADVANCE = `
  UPDATE t_conversations SET last_change_id = ?, last_change_at = ?, member_version = member_version + 1 WHERE id = ?`;

/**
 * Adds a change to the chain of a locked conversation and raises its member_version. The caller enqueues the returned job after commit;
 * if that is lost, the marks in Redis lag behind the head and the change is delivered with the next one.
 */
export async function appendChange(
  { ids, tenant }: { ids: IdGenerator; tenant: string },
  tx: Tx,
  conversation: LockedConversation,
  { kind, msgId, actorId, payload }: NewChange,
): Promise<DeliverJob> {
  const changeId = ids.next(conversation.lastChangeId);
  const now = new Date();
  const data = JSON.stringify(payload);
  await tx.change(INSERT, [conversation.id, changeId, conversation.lastChangeId, kind, msgId ?? null, actorId, Buffer.from(data), now]);
  await tx.change(ADVANCE, [changeId, now, conversation.id]);
  return {
    tenant,
    conversationId: conversation.id,
    changeId,
    prevChangeId: conversation.lastChangeId,
    kind,
    actorId,
    excludeDevice: 0n,
    notPush: true,
    data,
  };
}
