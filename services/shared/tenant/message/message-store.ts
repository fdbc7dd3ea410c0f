import type { Queryable } from '#shared/platform/mysql/database.ts';
import type { StoredMessage } from './new-message.ts';

interface MessageRow {
  readonly id: string;
  readonly conversation_id: string;
  readonly sender_id: string;
  readonly client_msg_id: Buffer;
  readonly message_type: number;
  readonly content: Buffer;
  readonly status: number;
  readonly prev_msg_id: string;
  readonly prev_change_id: string;
  readonly created_at: Date;
}

const COLUMNS = 'id, conversation_id, sender_id, client_msg_id, message_type, content, status, prev_msg_id, prev_change_id, created_at';
// Walks idx_conversation_id, so a page costs its rows and nothing else (MSG-46).
const AFTER = `
  SELECT ${COLUMNS} FROM t_messages FORCE INDEX (idx_conversation_id)
   WHERE conversation_id = ? AND id > ? AND id <= ? ORDER BY id ASC LIMIT ?`;
const BEFORE = `
  SELECT ${COLUMNS} FROM t_messages FORCE INDEX (idx_conversation_id)
   WHERE conversation_id = ? AND id < ? AND id > ? ORDER BY id DESC LIMIT ?`;
const ONE = `SELECT ${COLUMNS} FROM t_messages WHERE id = ?`;

/** Messages of a conversation with after < id <= upTo, oldest first. */
export async function messagesAfter(
  db: Queryable,
  conversationId: bigint,
  after: bigint,
  upTo: bigint,
  limit: number,
): Promise<StoredMessage[]> {
  return (await db.select<MessageRow>(AFTER, [conversationId, after, upTo, limit])).map(toMessage);
}

/** Messages of a conversation with above < id < before, newest first. */
export async function messagesBefore(
  db: Queryable,
  conversationId: bigint,
  before: bigint,
  above: bigint,
  limit: number,
): Promise<StoredMessage[]> {
  return (await db.select<MessageRow>(BEFORE, [conversationId, before, above, limit])).map(toMessage);
}

export async function findMessage(db: Queryable, id: bigint): Promise<StoredMessage | undefined> {
  const [row] = await db.select<MessageRow>(ONE, [id]);
  return row === undefined ? undefined : toMessage(row);
}

function toMessage(row: MessageRow): StoredMessage {
  return {
    id: BigInt(row.id),
    conversationId: BigInt(row.conversation_id),
    senderId: BigInt(row.sender_id),
    clientMsgId: row.client_msg_id.toString('utf8'),
    messageType: row.message_type,
    content: row.content,
    status: row.status,
    prevMsgId: BigInt(row.prev_msg_id),
    prevChangeId: BigInt(row.prev_change_id),
    createdAt: row.created_at,
  };
}
