import { createHash } from 'node:crypto';

/** A message on its way into the store. Everything about its form has been checked where it came in. */
export interface NewMessage {
  readonly conversationId: bigint;
  readonly senderId: bigint;
  /** 0 when no device sent it (system notices). */
  readonly senderDeviceId: bigint;
  /** 1 .. 64 bytes, compared as bytes. */
  readonly clientMsgId: string;
  readonly messageType: number;
  /** JSON exactly as received; comes back byte for byte (MSG-43). */
  readonly content: Buffer;
  /** `contentHash` of type and content. */
  readonly hash: Buffer;
  readonly notPush: boolean;
  /** An id from GENERATE_MSG_ID that this process issued to this device; kept when it still is above the head. */
  readonly wantedId?: bigint | undefined;
  /** Written by the server itself: no membership, friendship or mute is asked for (MSG-34). */
  readonly isSystem?: boolean;
}

/** What became of it. `msgId` is the stored message's, also when it was sent before. */
export interface Sent {
  readonly msgId: bigint;
  readonly isDuplicate: boolean;
  /** When it was stored. */
  readonly storedAt: Date;
}

/** What a repeat must agree with. */
export function contentHash(messageType: number, content: Buffer): Buffer {
  return createHash('sha256')
    .update(`${String(messageType)}\n`)
    .update(content)
    .digest();
}

/** A message as the store has it and as every client gets it. */
export interface StoredMessage {
  readonly id: bigint;
  readonly conversationId: bigint;
  readonly senderId: bigint;
  readonly clientMsgId: string;
  readonly messageType: number;
  readonly content: Buffer;
  readonly status: number;
  readonly prevMsgId: bigint;
  readonly prevChangeId: bigint;
  readonly createdAt: Date;
}

/** The data of a MESSAGE frame, of SYNC_MESSAGES and of history. The content's bytes are embedded as they are. */
export function messageData(message: StoredMessage): string {
  const { id, conversationId, senderId, clientMsgId, messageType, content, status, prevMsgId, prevChangeId, createdAt } = message;
  return `{"conversation_id":"${conversationId.toString()}","msg_id":"${id.toString()}","prev_msg_id":"${prevMsgId.toString()}","change_id":"${id.toString()}","prev_change_id":"${prevChangeId.toString()}","sender_id":"${senderId.toString()}","client_msg_id":${JSON.stringify(clientMsgId)},"message_type":${String(messageType)},"status":${String(status)},"content":${content.toString('utf8')},"created_at":"${createdAt.toISOString()}"}`;
}
