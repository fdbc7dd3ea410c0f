import { textOf } from './answer.ts';
import type { Data } from './answer.ts';

/** A message as clients see it. Ids are decimal strings, '0' for none. */
export interface ChatMessage {
  readonly conversationId: string;
  readonly msgId: string;
  readonly prevMsgId: string;
  readonly senderId: string;
  readonly clientMsgId: string;
  readonly content: unknown;
  readonly createdAt: string;
}

/** Reads `data` of MESSAGE, or one entry of SYNC_MESSAGES. @throws {Error} when it is not one */
export function chatMessage(data: Data): ChatMessage {
  return {
    conversationId: textOf(data, 'conversation_id'),
    msgId: textOf(data, 'msg_id'),
    prevMsgId: textOf(data, 'prev_msg_id'),
    senderId: textOf(data, 'sender_id'),
    clientMsgId: textOf(data, 'client_msg_id'),
    content: data['content'],
    createdAt: textOf(data, 'created_at'),
  };
}

export type ChainVerdict = 'next' | 'repeat' | 'gap';

/**
 * One conversation's messages as a client has them: each names the one before it, so that a hole is seen at once and a repeat is
 * dropped. After a gap the client asks SYNC_MESSAGES from `lastMsgId`.
 */
export class MessageChain {
  #lastMsgId: bigint | undefined;

  /** @param lastMsgId the newest message the client has; undefined: it has none and takes the first that comes */
  constructor(lastMsgId?: string) {
    this.#lastMsgId = lastMsgId === undefined ? undefined : BigInt(lastMsgId);
  }

  get lastMsgId(): string {
    return (this.#lastMsgId ?? 0n).toString();
  }

  /** Advances on `next`; stays where it is otherwise. */
  offer({ msgId, prevMsgId }: Pick<ChatMessage, 'msgId' | 'prevMsgId'>): ChainVerdict {
    const id = BigInt(msgId);
    if (this.#lastMsgId !== undefined && id <= this.#lastMsgId) return 'repeat';
    if (this.#lastMsgId !== undefined && BigInt(prevMsgId) !== this.#lastMsgId) return 'gap';
    this.#lastMsgId = id;
    return 'next';
  }

  /** What SYNC_MESSAGES gave up to `msgId` is here now. */
  advanceTo(msgId: string): void {
    const id = BigInt(msgId);
    if (this.#lastMsgId === undefined || id > this.#lastMsgId) this.#lastMsgId = id;
  }
}
