import { Refusal } from '#shared/contract/reasons.ts';
import type { Reason } from '#shared/contract/reasons.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Lane, LaneRows, Statement } from '#shared/platform/mysql/lane.ts';
import { toConversation } from '../conversation/lock-conversation.ts';
import type { ConversationRow, LockedConversation } from '../conversation/lock-conversation.ts';
import { closingPacket, openingPacket, permissionPacket } from './batch-sql.ts';
import type { NumberedMessage } from './batch-sql.ts';
import type { NewMessage, Sent } from './new-message.ts';
import { pairKey, refuseToSend } from './send-permission.ts';
import type { SendFacts } from './send-permission.ts';

export interface BatchDeps {
  readonly lane: Lane;
  readonly ids: IdGenerator;
  readonly clock: Clock;
  /** A statement that returns a row while this process may number messages. */
  readonly proof: () => Statement;
}

const ROLLBACK: Statement = { sql: 'ROLLBACK', params: [] };

/** What one transaction decided about each message of its batch. */
export type Verdict =
  | { readonly kind: 'stored'; readonly numbered: NumberedMessage }
  | { readonly kind: 'repeat'; readonly sent: Sent }
  | { readonly kind: 'refused'; readonly reason: Reason }
  /** Its conversation is locked by somebody else, or the same message is in this batch already: it belongs into the next one. */
  | { readonly kind: 'later' };

/**
 * Stores a batch in ONE transaction, or nothing of it. Repeats are resolved before anything else is asked, permission is judged under the
 * locks that the writing needs, and ids are given under them too, so that commit order is id order within a conversation.
 *
 * @returns a verdict for each message, in order; after a throw nothing is stored (or, if the connection broke during COMMIT, everything:
 *   running the batch again finds it)
 * @see MSG-23 @see MSG-28
 */
export async function writeBatch(deps: BatchDeps, messages: readonly NewMessage[], skipLocked: boolean): Promise<readonly Verdict[]> {
  try {
    const [, repeats = [], existing = [], locked = []] = await deps.lane.packet(openingPacket(messages, skipLocked));
    const verdicts = sortOut(messages, repeats, existing, locked);
    const open = messages.filter((_, n) => verdicts[n] === undefined);
    if (open.length === 0) await deps.lane.more([ROLLBACK]);
    else await judgeAndStore(deps, messages, open, locked, verdicts);
    return verdicts.map((verdict) => verdict ?? { kind: 'later' });
  } catch (error) {
    await deps.lane.rollback();
    throw error;
  }
}

/** Everything that needs no permission: repeats, conversations that do not exist or are locked elsewhere, twins within the batch. */
function sortOut(messages: readonly NewMessage[], repeats: LaneRows, existing: LaneRows, locked: LaneRows): (Verdict | undefined)[] {
  const stored = new Map(repeats.map((row) => [rowKey(row), row]));
  const exists = new Set(existing.map((row) => BigInt(row.id as string)));
  const isLocked = new Set(locked.map((row) => BigInt(row.id as string)));
  const seen = new Set<string>();
  return messages.map((message) => {
    const key = messageKey(message);
    const row = stored.get(key);
    if (row !== undefined) return judgeRepeat(message, row);
    if (!exists.has(message.conversationId)) return { kind: 'refused', reason: 'RESOURCE_NOT_FOUND' };
    if (!isLocked.has(message.conversationId) || seen.has(key)) return { kind: 'later' };
    seen.add(key);
    return undefined;
  });
}

function judgeRepeat(message: NewMessage, row: LaneRows[number]): Verdict {
  if (!message.hash.equals(row.content_hash as Buffer)) return { kind: 'refused', reason: 'DUPLICATE' };
  return { kind: 'repeat', sent: { msgId: BigInt(row.id as string), isDuplicate: true, storedAt: row.created_at as Date } };
}

async function judgeAndStore(
  deps: BatchDeps,
  messages: readonly NewMessage[],
  open: readonly NewMessage[],
  locked: LaneRows,
  verdicts: (Verdict | undefined)[],
): Promise<void> {
  const [held = [], ...rows] = await deps.lane.more(permissionPacket(open, deps.proof()));
  if (held.length === 0) throw new Refusal('BUSY', 'this process may not issue ids right now');
  const facts = toFacts(rows);
  const heads = new Map(locked.map((row) => [BigInt(row.id as string), toConversation(row as unknown as ConversationRow)]));
  const numbered: NumberedMessage[] = [];
  messages.forEach((message, n) => {
    const head = heads.get(message.conversationId);
    if (verdicts[n] !== undefined || head === undefined) return;
    const reason = refuseToSend(facts, message, head.type);
    if (reason !== undefined) return void (verdicts[n] = { kind: 'refused', reason });
    const next = number(deps, message, head);
    heads.set(message.conversationId, { ...head, lastMsgId: next.id, lastChangeId: next.id });
    numbered.push(next);
    verdicts[n] = { kind: 'stored', numbered: next };
  });
  await deps.lane.more(numbered.length === 0 ? [ROLLBACK] : closingPacket(numbered));
}

function number({ ids, clock }: BatchDeps, message: NewMessage, head: LockedConversation): NumberedMessage {
  const wanted = message.wantedId;
  const id = wanted !== undefined && wanted > head.lastChangeId ? wanted : ids.next(head.lastChangeId);
  return { message, id, prevMsgId: head.lastMsgId, prevChangeId: head.lastChangeId, storedAt: clock.now() };
}

function toFacts(rows: readonly LaneRows[]): SendFacts {
  const [senders = [], members = [], peers = [], friends = [], blocked = [], groups = [], mutes = []] = rows;
  return {
    userStates: new Map(senders.map((row) => [id(row.id), row.state as number])),
    members: new Map(members.map((row) => [pairKey(id(row.conversation_id), id(row.user_id)), row.role as number])),
    peers: new Map(peers.map((row) => [id(row.conversation_id), [id(row.user_small), id(row.user_big)] as const])),
    friends: new Set(friends.map((row) => pairKey(id(row.user_id), id(row.friend_id)))),
    blocked: new Set(blocked.map((row) => pairKey(id(row.user_id), id(row.blocked_id)))),
    groups: new Map(groups.map((row) => [id(row.conversation_id), { state: row.state as number, isMutedForAll: row.mute_all === 1 }])),
    mutes: new Set(mutes.map((row) => pairKey(id(row.conversation_id), id(row.user_id)))),
  };
}

function id(value: unknown): bigint {
  return BigInt(value as string);
}

function messageKey({ senderId, conversationId, clientMsgId }: NewMessage): string {
  return `${senderId.toString()}:${conversationId.toString()}:${clientMsgId}`;
}

function rowKey(row: LaneRows[number]): string {
  return `${row.sender_id as string}:${row.conversation_id as string}:${(row.client_msg_id as Buffer).toString('utf8')}`;
}
