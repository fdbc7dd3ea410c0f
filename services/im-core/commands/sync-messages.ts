import { COMMANDS } from '#shared/contract/commands.ts';
import { parseId } from '#shared/contract/ids.ts';
import { readMarkOf } from '#shared/tenant/dialog/read-mark.ts';
import { getMessagesAfter } from '#shared/tenant/message/get-messages.ts';
import type { MessagePage } from '#shared/tenant/message/get-messages.ts';
import { messageData } from '#shared/tenant/message/new-message.ts';
import type { CommandHandler } from './command.ts';
import { parseLimit } from './sync-inbox.ts';
import { tenantOf } from './tenant-services.ts';
import type { Tenants } from './tenant-services.ts';

/**
 * Command 12: the messages of a conversation after one, oldest first, at most `limit` (SYN-05) and as many as one frame holds.
 *
 * Wire    {"conversation_id", "last_msg_id", "limit"?}
 * Answer  {"conversation_id", "messages": [MESSAGE data, ...], "has_more", "last_msg_id", "read_msg_id"}; last_msg_id is
 *         where the next page begins, also when everything on this one is hidden
 *
 * @see SYN-04
 */
export function syncMessages({ tenants, limit, maxBodyBytes }: { tenants: Tenants; limit: number; maxBodyBytes: number }): CommandHandler {
  return {
    command: COMMANDS.SYNC_MESSAGES,
    async handle({ tenant, userId }, body) {
      const { db } = tenantOf(tenants, tenant);
      const conversationId = parseId(body.conversation_id, 'conversation_id');
      const after = parseId(body.last_msg_id, 'last_msg_id', 0n);
      const page = await getMessagesAfter(db, userId, conversationId, after, parseLimit(body.limit, limit));
      const mark = (await readMarkOf(db, conversationId, userId)) ?? 0n;
      const { messages, hasMore, lastId } = fittingPage(page, maxBodyBytes - ENVELOPE_BYTES);
      return Buffer.from(
        `{"conversation_id":"${conversationId.toString()}","messages":[${messages.join(',')}],"has_more":${String(hasMore)},"last_msg_id":"${lastId.toString()}","read_msg_id":"${mark.toString()}"}`,
      );
    },
  };
}

/** Room for everything around the messages of an answer. */
const ENVELOPE_BYTES = 1024;

interface FittingPage {
  /** JSON text: the content of a message is bytes that must not pass through a JSON parser. */
  readonly messages: readonly string[];
  readonly hasMore: boolean;
  readonly lastId: bigint;
}

/** The beginning of a page that fits into `maxBytes`; one message at least, whatever its size. */
export function fittingPage({ messages, hasMore, lastId }: MessagePage, maxBytes: number): FittingPage {
  const texts: string[] = [];
  let bytes = 0;
  for (const [index, message] of messages.entries()) {
    const text = messageData(message);
    bytes += Buffer.byteLength(text) + 1;
    const last = messages[index - 1];
    if (bytes > maxBytes && last !== undefined) return { messages: texts, hasMore: true, lastId: last.id };
    texts.push(text);
  }
  return { messages: texts, hasMore, lastId };
}

/** Command 13: the device has the conversation up to this message. Nothing is stored; it closes the level for whoever reads the log. @see SYN-08 */
export function syncMessagesFinish(): CommandHandler {
  return {
    command: COMMANDS.SYNC_MESSAGES_FINISH,
    handle(_context, body) {
      const conversationId = parseId(body.conversation_id, 'conversation_id');
      const lastMsgId = parseId(body.last_msg_id, 'last_msg_id', 0n);
      return Promise.resolve({ conversation_id: conversationId.toString(), last_msg_id: lastMsgId.toString() });
    },
  };
}
