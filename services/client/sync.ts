import { setTimeout as pause } from 'node:timers/promises';
import { COMMANDS } from '#shared/contract/commands.ts';
import { listOf, RefusedError, textOf } from './answer.ts';
import type { Data } from './answer.ts';
import { chatMessage } from './chat-message.ts';
import type { ChatMessage } from './chat-message.ts';
import type { Reply } from './im-connection.ts';

/** Whoever can ask the gateway. */
export interface Requester {
  request(command: number, body: object): Promise<Reply>;
}

export interface InboxCursor {
  readonly syncEpoch: string;
  readonly dialogScore: string;
  readonly mailboxSeq: string;
}

export interface InboxPage {
  readonly dialogs: readonly Data[];
  readonly events: readonly Data[];
  /** Where to go on next time. */
  readonly cursor: InboxCursor;
}

/**
 * Reads all that is new since `cursor`, page by page, and tells the server that it is here (SYNC_INBOX_FINISH).
 * Without a cursor, or when the epoch has changed, from the beginning.
 */
export async function syncInbox(requester: Requester, cursor?: InboxCursor, limit = 200): Promise<InboxPage> {
  const dialogs: Data[] = [];
  const events: Data[] = [];
  let at = cursor;
  for (;;) {
    const position = { dialog_score: at?.dialogScore ?? '0', mailbox_seq: at?.mailboxSeq ?? '0' };
    const data = await askForPage(requester, COMMANDS.SYNC_INBOX, { ...position, limit });
    const syncEpoch = textOf(data, 'sync_epoch');
    if (at !== undefined && at.syncEpoch !== syncEpoch) return syncInbox(requester, undefined, limit);
    dialogs.push(...listOf(data, 'dialogs'));
    events.push(...listOf(data, 'events'));
    at = { syncEpoch, dialogScore: textOf(data, 'dialog_score'), mailboxSeq: textOf(data, 'mailbox_seq') };
    if (data['has_more'] !== true) break;
  }
  await requester.request(COMMANDS.SYNC_INBOX_FINISH, { dialog_score: at.dialogScore, mailbox_seq: at.mailboxSeq });
  return { dialogs, events, cursor: at };
}

export interface MessagesPage {
  readonly messages: readonly ChatMessage[];
  /** The reader's own mark. */
  readonly readMsgId: string;
}

/**
 * Reads every message after `lastMsgId` in order, then SYNC_MESSAGES_FINISH.
 *
 * @throws {Error} when the server's pages do not advance
 */
export async function syncMessages(requester: Requester, conversationId: string, lastMsgId = '0', limit = 200): Promise<MessagesPage> {
  const messages: ChatMessage[] = [];
  let at = lastMsgId;
  for (;;) {
    const data = await askForPage(requester, COMMANDS.SYNC_MESSAGES, { conversation_id: conversationId, last_msg_id: at, limit });
    messages.push(...listOf(data, 'messages').map(chatMessage));
    const last = textOf(data, 'last_msg_id');
    if (data['has_more'] === true) {
      if (BigInt(last) <= BigInt(at)) throw new Error('SYNC_MESSAGES does not advance');
      at = last;
      continue;
    }
    await requester.request(COMMANDS.SYNC_MESSAGES_FINISH, { conversation_id: conversationId, last_msg_id: last });
    return { messages, readMsgId: textOf(data, 'read_msg_id') };
  }
}

interface PageRequest {
  readonly limit: number;
  readonly [field: string]: unknown;
}

/** How often one page is asked for again because the server said "later". */
const MAX_WAITS = 5;

/** Asks for half as much where the server says that a page fits no frame, and later where it says that this is too fast. */
async function askForPage(requester: Requester, command: number, wanted: PageRequest, waits = 0): Promise<Data> {
  try {
    return (await requester.request(command, wanted)).data;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.reason === 'TOO_LARGE' && wanted.limit > 1) {
      return askForPage(requester, command, { ...wanted, limit: Math.ceil(wanted.limit / 2) }, waits);
    }
    if (error.reason !== 'RATE_LIMITED' || error.retryAfterMs === undefined || waits === MAX_WAITS) throw error;
    await pause(error.retryAfterMs);
    return askForPage(requester, command, wanted, waits + 1);
  }
}
