import { COMMANDS } from '#shared/contract/commands.ts';
import { parseId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { finishInbox, storedCursors, syncInbox as readInbox } from '#shared/tenant/dialog/sync-inbox.ts';
import type { InboxCursors, InboxPage } from '#shared/tenant/dialog/sync-inbox.ts';
import type { CommandBody, CommandHandler } from './command.ts';
import { tenantOf } from './tenant-services.ts';
import type { Tenants } from './tenant-services.ts';

/**
 * Command 10: the conversations and events that changed for this device, at most `limit` of each and as many as one frame holds.
 *
 * Wire    {"dialog_score"?, "mailbox_seq"?, "limit"?}; a missing cursor is the one finished last, "0" starts from the beginning
 * Answer  {"sync_epoch", "dialogs": [...], "events": [...], "dialog_score", "mailbox_seq", "has_more"}
 *
 * @see SYN-01 .. SYN-03
 */
export function syncInbox({ tenants, limit, maxBodyBytes }: { tenants: Tenants; limit: number; maxBodyBytes: number }): CommandHandler {
  return {
    command: COMMANDS.SYNC_INBOX,
    async handle({ tenant, userId, deviceId }, body) {
      const { db, lists } = tenantOf(tenants, tenant);
      const from = cursors(body, await storedCursors(db, userId, deviceId));
      const page = await readInbox({ db, lists }, { userId, deviceId }, from, parseLimit(body.limit, limit));
      return toAnswer(fittingInbox(page, from, maxBodyBytes - ENVELOPE_BYTES));
    },
  };
}

/** Command 11: the device has everything up to these cursors. @see SYN-08 */
export function syncInboxFinish({ tenants }: { tenants: Tenants }): CommandHandler {
  return {
    command: COMMANDS.SYNC_INBOX_FINISH,
    async handle({ tenant, userId, deviceId }, body) {
      const { db } = tenantOf(tenants, tenant);
      const finished = {
        dialogScore: parseId(body.dialog_score, 'dialog_score', 0n),
        mailboxSeq: parseId(body.mailbox_seq, 'mailbox_seq', 0n),
      };
      await finishInbox(db, userId, deviceId, finished);
      return { dialog_score: finished.dialogScore.toString(), mailbox_seq: finished.mailboxSeq.toString() };
    },
  };
}

function cursors(body: CommandBody, stored: InboxCursors): InboxCursors {
  return {
    dialogScore: body.dialog_score === undefined ? stored.dialogScore : parseId(body.dialog_score, 'dialog_score', 0n),
    mailboxSeq: body.mailbox_seq === undefined ? stored.mailboxSeq : parseId(body.mailbox_seq, 'mailbox_seq', 0n),
  };
}

/** A page size from 1 to the server's; missing = the server's. @throws {Refusal} INVALID_ARGUMENT */
export function parseLimit(value: unknown, max: number): number {
  if (value === undefined) return max;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return Math.min(value, max);
  throw new Refusal('INVALID_ARGUMENT', `limit must be a number from 1 to ${String(max)}`, { field: 'limit' });
}

/** Room for everything around the entries of an answer. */
const ENVELOPE_BYTES = 1024;

/** The beginning of a page that fits into `maxBytes`, dialogs before events; one entry at least, so that it always advances. */
export function fittingInbox(page: InboxPage, from: InboxCursors, maxBytes: number): InboxPage {
  let [bytes, entries] = [0, 0];
  const fits = (data: object): boolean => {
    bytes += Buffer.byteLength(JSON.stringify(data)) + 1;
    entries += 1;
    return bytes <= maxBytes || entries === 1;
  };
  const dialogs = fitting(page.dialogs, (dialog) => fits(dialogData(dialog)));
  const events = fitting(page.events, (event) => fits(eventData(event)));
  if (dialogs.length === page.dialogs.length && events.length === page.events.length) return page;
  const next = { dialogScore: BigInt(dialogs.at(-1)?.score ?? from.dialogScore), mailboxSeq: events.at(-1)?.seq ?? from.mailboxSeq };
  return { ...page, dialogs, events, cursors: next, hasMore: true };
}

function fitting<T>(entries: readonly T[], fits: (entry: T) => boolean): readonly T[] {
  const end = entries.findIndex((entry) => !fits(entry));
  return end === -1 ? entries : entries.slice(0, end);
}

function dialogData({
  conversationId,
  lastMsgId,
  preview,
  type,
  score,
  unread,
  muted,
  pinned,
  left,
}: InboxPage['dialogs'][number]): object {
  return {
    conversation_id: conversationId,
    type,
    score,
    last_msg_id: lastMsgId,
    unread,
    muted,
    pinned,
    left,
    preview: preview === '' ? null : (JSON.parse(preview) as object),
  };
}

function eventData({ seq, eventType, conversationId, changeId, payload }: InboxPage['events'][number]): object {
  return {
    seq: seq.toString(),
    event_type: eventType,
    conversation_id: conversationId.toString(),
    change_id: changeId.toString(),
    payload: payload === '' ? null : (JSON.parse(payload) as object),
  };
}

function toAnswer({ syncEpoch, dialogs, events, cursors: next, hasMore }: InboxPage): object {
  return {
    sync_epoch: syncEpoch,
    dialogs: dialogs.map(dialogData),
    events: events.map(eventData),
    dialog_score: next.dialogScore.toString(),
    mailbox_seq: next.mailboxSeq.toString(),
    has_more: hasMore,
  };
}
