import type { Statement } from '#shared/platform/mysql/lane.ts';
import { pairKey } from './send-permission.ts';
import type { NewMessage } from './new-message.ts';

/** The statements of one batch, packet by packet. Each asks once for everybody in the batch. */

const REPEATS = `
  SELECT id, sender_id, conversation_id, client_msg_id, content_hash, created_at FROM t_messages FORCE INDEX (uk_sender_conv_client_msg)
   WHERE (sender_id, conversation_id, client_msg_id) IN (?)`;
const EXISTING = 'SELECT id FROM t_conversations WHERE id IN (?)';
// In id order, so that two batches can never wait for each other in a circle.
const LOCK = `
  SELECT id, type, last_msg_id, last_change_id, member_version FROM t_conversations FORCE INDEX (PRIMARY)
   WHERE id IN (?) ORDER BY id FOR UPDATE`;

/** Packet 1: begin, find what was stored before, lock what is free. A locked row and an absent one look alike, hence EXISTING. */
export function openingPacket(messages: readonly NewMessage[], skipLocked: boolean): Statement[] {
  const conversations = unique(messages.map((message) => message.conversationId));
  return [
    { sql: 'BEGIN', params: [] },
    { sql: REPEATS, params: [messages.map((message) => [message.senderId, message.conversationId, Buffer.from(message.clientMsgId)])] },
    { sql: EXISTING, params: [conversations] },
    { sql: skipLocked ? `${LOCK} SKIP LOCKED` : LOCK, params: [conversations] },
  ];
}

// FOR SHARE: a ban that is being written waits for us or we for it; nothing in between.
const SENDERS = 'SELECT id, state FROM t_users FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR SHARE';
const MEMBERS = 'SELECT conversation_id, user_id, role FROM t_conversation_members WHERE (conversation_id, user_id) IN (?) AND present = 1';
const PEERS = 'SELECT conversation_id, user_small, user_big FROM t_p2p_conversations WHERE conversation_id IN (?)';
const FRIENDS = `
  SELECT f.user_id, f.friend_id FROM t_p2p_conversations p JOIN t_friends f
      ON (f.user_id, f.friend_id) IN ((p.user_small, p.user_big), (p.user_big, p.user_small))
   WHERE p.conversation_id IN (?) AND f.state = 2`;
const BLOCKED = `
  SELECT b.user_id, b.blocked_id FROM t_p2p_conversations p JOIN t_blacklist b
      ON (b.user_id, b.blocked_id) IN ((p.user_small, p.user_big), (p.user_big, p.user_small))
   WHERE p.conversation_id IN (?)`;
const GROUPS = 'SELECT conversation_id, state, mute_all FROM t_groups WHERE conversation_id IN (?)';
const MUTES = `
  SELECT conversation_id, user_id FROM im_group_mutes
   WHERE (conversation_id, user_id) IN (?) AND (expires_at IS NULL OR expires_at > NOW(3))`;

/** Packet 2: the worker id is still ours, and everything that permission depends on. Always eight statements, so that results have fixed places. */
export function permissionPacket(messages: readonly NewMessage[], proof: Statement): Statement[] {
  const pairs = [...new Map(messages.map((message) => [pairKey(message.conversationId, message.senderId), message])).values()].map(
    (message) => [message.conversationId, message.senderId],
  );
  const conversations = [unique(messages.map((message) => message.conversationId))];
  return [
    proof,
    { sql: SENDERS, params: [unique(messages.map((message) => message.senderId))] },
    { sql: MEMBERS, params: [pairs] },
    { sql: PEERS, params: conversations },
    { sql: FRIENDS, params: conversations },
    { sql: BLOCKED, params: conversations },
    { sql: GROUPS, params: conversations },
    { sql: MUTES, params: [pairs] },
  ];
}

/** A message with everything that the lock decides. */
export interface NumberedMessage {
  readonly message: NewMessage;
  readonly id: bigint;
  readonly prevMsgId: bigint;
  readonly prevChangeId: bigint;
  readonly storedAt: Date;
}

const INSERT = `
  INSERT INTO t_messages (id, conversation_id, sender_id, sender_device_id, client_msg_id, message_type, content, content_hash,
                          prev_msg_id, prev_change_id, not_push, created_at)
  VALUES ?`;
// The rows exist and are locked: the duplicate key is the point, it lets one statement advance them all.
const ADVANCE = `
  INSERT INTO t_conversations (id, type, last_msg_id, last_msg_at, last_change_id, last_change_at, created_at)
  VALUES ? AS n
  ON DUPLICATE KEY UPDATE last_msg_id = n.last_msg_id, last_msg_at = n.last_msg_at, last_change_id = n.last_change_id, last_change_at = n.last_change_at`;

/** Packet 3: all messages in one statement, all conversations in one, commit. */
export function closingPacket(numbered: readonly NumberedMessage[]): Statement[] {
  const heads = new Map(numbered.map((each) => [each.message.conversationId, each]));
  return [
    { sql: INSERT, params: [numbered.map(messageRow)] },
    {
      sql: ADVANCE,
      params: [[...heads].map(([conversationId, { id, storedAt }]) => [conversationId, 0, id, storedAt, id, storedAt, storedAt])],
    },
    { sql: 'COMMIT', params: [] },
  ];
}

function messageRow({ message, id, prevMsgId, prevChangeId, storedAt }: NumberedMessage): (string | number | bigint | Buffer | Date)[] {
  return [
    id,
    message.conversationId,
    message.senderId,
    message.senderDeviceId,
    Buffer.from(message.clientMsgId),
    message.messageType,
    message.content,
    message.hash,
    prevMsgId,
    prevChangeId,
    message.notPush ? 1 : 0,
    storedAt,
  ];
}

function unique(ids: readonly bigint[]): bigint[] {
  return [...new Set(ids)];
}
