import { CHANGE_KINDS } from '#shared/contract/commands.ts';
import type { ChangeKind } from '#shared/contract/commands.ts';
import type { Queryable } from '#shared/platform/mysql/database.ts';
import { messageData } from '../message/new-message.ts';
import { findMessage, messagesAfter } from '../message/message-store.ts';
import type { StoredMessage } from '../message/new-message.ts';
import type { DeliverJob } from './deliver-job.ts';

/** More changes than this between a mark and the head are not replayed but rebuilt. */
export const MAX_REPLAY = 1_000;

interface ChangeRow {
  readonly change_id: string;
  readonly prev_change_id: string;
  readonly kind: ChangeKind;
  readonly actor_id: string;
  readonly payload: Buffer;
}

const CHANGES = `
  SELECT change_id, prev_change_id, kind, actor_id, payload FROM t_conversation_changes FORCE INDEX (PRIMARY)
   WHERE conversation_id = ? AND change_id > ? AND change_id <= ? ORDER BY change_id LIMIT ?`;
const HEAD = 'SELECT last_change_id FROM t_conversations FORCE INDEX (PRIMARY) WHERE id = ?';
const SENDER_DEVICES = 'SELECT id, sender_device_id, not_push FROM t_messages WHERE id IN (?)';

/** The last change of a conversation; 0n when it has none or does not exist. */
export async function headOf(db: Queryable, conversationId: bigint): Promise<bigint> {
  const [row] = await db.select<{ last_change_id: string }>(HEAD, [conversationId]);
  return BigInt(row?.last_change_id ?? 0);
}

const COUNT = `
  SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM t_messages FORCE INDEX (idx_conversation_id) WHERE conversation_id = ? AND id > ? AND id <= ? LIMIT ?) m)
       + (SELECT COUNT(*) FROM (SELECT 1 FROM t_conversation_changes FORCE INDEX (PRIMARY) WHERE conversation_id = ? AND change_id > ? AND change_id <= ? LIMIT ?) c) AS changes`;
const PREV = `
  SELECT prev_change_id FROM t_messages WHERE id = ? AND conversation_id = ?
   UNION ALL SELECT prev_change_id FROM t_conversation_changes WHERE change_id = ? AND conversation_id = ?`;

/** Whether more changes than MAX_REPLAY lie in after < id <= upTo. */
export async function isGapTooLong(db: Queryable, conversationId: bigint, after: bigint, upTo: bigint): Promise<boolean> {
  const range = [conversationId, after, upTo, MAX_REPLAY + 1];
  const [row] = await db.select<{ changes: string | number }>(COUNT, [...range, ...range]);
  return Number(row?.changes ?? 0) > MAX_REPLAY;
}

/** Whether this is the change that a conversation began with. */
export async function isFirstChange(db: Queryable, conversationId: bigint, changeId: bigint): Promise<boolean> {
  const [row] = await db.select<{ prev_change_id: string }>(PREV, [changeId, conversationId, changeId, conversationId]);
  return row?.prev_change_id === '0';
}

/**
 * The changes of a conversation with after < id <= upTo, in chain order, as complete jobs.
 *
 * @returns undefined when they are more than MAX_REPLAY
 */
export async function changesBetween(
  db: Queryable,
  tenant: string,
  conversationId: bigint,
  after: bigint,
  upTo: bigint,
): Promise<readonly DeliverJob[] | undefined> {
  const limit = MAX_REPLAY + 1;
  const messages = await messagesAfter(db, conversationId, after, upTo, limit);
  const changes = await db.select<ChangeRow>(CHANGES, [conversationId, after, upTo, limit]);
  if (messages.length + changes.length > MAX_REPLAY) return undefined;
  const jobs = [...(await messageJobs(db, tenant, messages)), ...changes.map((row) => changeJob(tenant, conversationId, row))];
  return jobs.sort((one, other) => (one.changeId < other.changeId ? -1 : 1));
}

async function messageJobs(db: Queryable, tenant: string, messages: readonly StoredMessage[]): Promise<DeliverJob[]> {
  if (messages.length === 0) return [];
  const rows = await db.select<{ id: string; sender_device_id: string; not_push: number }>(SENDER_DEVICES, [
    messages.map((message) => message.id),
  ]);
  const extra = new Map(rows.map((row) => [row.id, row]));
  return messages.map((message) => ({
    tenant,
    conversationId: message.conversationId,
    changeId: message.id,
    prevChangeId: message.prevChangeId,
    kind: CHANGE_KINDS.MESSAGE,
    actorId: message.senderId,
    excludeDevice: BigInt(extra.get(message.id.toString())?.sender_device_id ?? 0),
    notPush: extra.get(message.id.toString())?.not_push === 1,
    data: messageData(message),
  }));
}

function changeJob(tenant: string, conversationId: bigint, row: ChangeRow): DeliverJob {
  return {
    tenant,
    conversationId,
    changeId: BigInt(row.change_id),
    prevChangeId: BigInt(row.prev_change_id),
    kind: row.kind,
    actorId: BigInt(row.actor_id),
    excludeDevice: 0n,
    notPush: true,
    data: row.payload.toString('utf8'),
  };
}

/** Length of the text in a preview (characters), and its bound in UTF-16 units: one character may have any number of marks. */
const PREVIEW_CHARACTERS = 60;
const PREVIEW_UNITS = 1_024;
const CHARACTERS = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The short form of the newest message of a list entry (INB-04, G-57): JSON text. */
export function previewOf(data: string): string {
  const message = JSON.parse(data) as {
    msg_id: string;
    sender_id: string;
    message_type: number;
    status: number;
    content: unknown;
    created_at: string;
  };
  const text = (message.content as { text?: unknown } | null)?.text;
  return JSON.stringify({
    msg_id: message.msg_id,
    sender_id: message.sender_id,
    message_type: message.message_type,
    text: typeof text === 'string' ? shorten(text) : '',
    created_at: message.created_at,
  });
}

function shorten(text: string): string {
  if (text.length <= PREVIEW_CHARACTERS) return text;
  let short = '';
  let count = 0;
  for (const { segment } of CHARACTERS.segment(text.slice(0, PREVIEW_UNITS).toWellFormed())) {
    if (count >= PREVIEW_CHARACTERS) break;
    short += segment;
    count += 1;
  }
  return short;
}

/** The preview of a conversation from its newest normal message; '' = none. */
export async function previewAt(db: Queryable, conversationId: bigint): Promise<string> {
  const [row] = await db.select<{ last_msg_id: string }>('SELECT last_msg_id FROM t_conversations WHERE id = ?', [conversationId]);
  const message = row === undefined || row.last_msg_id === '0' ? undefined : await findMessage(db, BigInt(row.last_msg_id));
  return message?.status === 1 ? previewOf(messageData(message)) : '';
}
