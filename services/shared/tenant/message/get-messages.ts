import { MESSAGE_STATUS } from '#shared/contract/commands.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { messagesAfter, messagesBefore } from './message-store.ts';
import type { StoredMessage } from './new-message.ts';
import { visibleWindows } from './visible-window.ts';

export interface MessagePage {
  /** Hidden ones are left out; of recalled ones only the frame is given, without content. */
  readonly messages: readonly StoredMessage[];
  readonly hasMore: boolean;
  /** The last message that was looked at, shown or not: where the next page begins. */
  readonly lastId: bigint;
}

const NOTHING = Buffer.from('null');

/**
 * The next messages of a conversation after `after`, oldest first, within what this user may see (SYN-04).
 *
 * @throws {Refusal} NOT_A_MEMBER
 */
export async function getMessagesAfter(
  db: Database,
  userId: bigint,
  conversationId: bigint,
  after: bigint,
  limit: number,
): Promise<MessagePage> {
  const found: StoredMessage[] = [];
  for (const window of await visibleWindows(db, conversationId, userId)) {
    const from = window.from > after ? window.from : after;
    const wanted = limit + 1 - found.length;
    if (from < window.upTo && wanted > 0) found.push(...(await messagesAfter(db, conversationId, from, window.upTo, wanted)));
  }
  return toPage(found, limit, after);
}

/**
 * History: messages before `before`, newest first (MSG-72).
 *
 * @param before 0n = from the newest
 * @throws {Refusal} NOT_A_MEMBER
 */
export async function getHistory(
  db: Database,
  userId: bigint,
  conversationId: bigint,
  before: bigint,
  limit: number,
): Promise<MessagePage> {
  const found: StoredMessage[] = [];
  const windows = await visibleWindows(db, conversationId, userId);
  for (const window of [...windows].reverse()) {
    const end = before === 0n || before > window.upTo ? window.upTo + 1n : before;
    const wanted = limit + 1 - found.length;
    if (end > window.from && wanted > 0) found.push(...(await messagesBefore(db, conversationId, end, window.from, wanted)));
  }
  return toPage(found, limit, before);
}

function toPage(found: readonly StoredMessage[], limit: number, from: bigint): MessagePage {
  const page = found.slice(0, limit);
  return { messages: page.flatMap(asVisible), hasMore: found.length > limit, lastId: page.at(-1)?.id ?? from };
}

function asVisible(message: StoredMessage): StoredMessage[] {
  if (message.status === MESSAGE_STATUS.HIDDEN) return [];
  return [message.status === MESSAGE_STATUS.RECALLED ? { ...message, content: NOTHING } : message];
}
