import { CHANGE_KINDS } from '#shared/contract/commands.ts';
import { externalId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Database, Tx } from '#shared/platform/mysql/database.ts';
import { appendChange } from '../conversation/append-change.ts';
import { lockConversation } from '../conversation/lock-conversation.ts';
import type { LockedConversation } from '../conversation/lock-conversation.ts';
import { findP2p } from '../conversation/p2p-conversation.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import { appendNotice } from '../notice/append-notice.ts';
import { findProfiles } from '../user/user-store.ts';
import { FRIEND_STATES, isBlocked, lockPair, setFriendRows } from './friend-store.ts';

export interface FriendDeps {
  readonly db: Database;
  readonly tenant: string;
  readonly ids: IdGenerator;
  /** Wakes the notice worker. */
  readonly wakeNotices: () => void;
  /** Queues delivery after commit; what is lost is repaired by the sweeper. */
  readonly enqueue: (jobs: readonly DeliverJob[]) => Promise<void>;
}

export interface FriendRequest {
  readonly userId: bigint;
  readonly otherId: bigint;
  readonly traceId: string;
}

export type FriendState = 'requested' | 'friend';

/** What a transaction decided, and what must be queued once it is committed. */
interface Outcome {
  readonly state: FriendState;
  readonly jobs: readonly DeliverJob[];
}

/**
 * Asks somebody to be friends. Idempotent; where the other one asked before, they are friends at once.
 *
 * @throws {Refusal} INVALID_ARGUMENT (oneself) | RESOURCE_NOT_FOUND | BLOCKED
 * @see G-17 @see FRD-04
 */
export async function requestFriend(deps: FriendDeps, request: FriendRequest): Promise<FriendState> {
  const { userId, otherId } = request;
  if (userId === otherId) throw new Refusal('INVALID_ARGUMENT', 'one cannot befriend oneself', { field: 'user_id' });
  return change(deps, request, async (tx, conversation) => {
    if ((await findProfiles(tx, [otherId])).length === 0) throw new Refusal('RESOURCE_NOT_FOUND', 'no such user', { field: 'user_id' });
    const pair = await lockPair(tx, userId, otherId);
    if (pair.forth === FRIEND_STATES.FRIENDS) return { state: 'friend', jobs: [] };
    if (await isBlocked(tx, otherId, userId)) throw new Refusal('BLOCKED', 'this user does not want requests from you');
    if (pair.back === FRIEND_STATES.ASKED) return join(deps, tx, conversation, request);
    if (pair.forth === undefined) {
      await setFriendRows(tx, [[userId, otherId]], FRIEND_STATES.ASKED);
      await tell(deps, tx, request, otherId, 'friend.requested');
    }
    return { state: 'requested', jobs: [] };
  });
}

/**
 * Says yes to a request. Idempotent.
 *
 * @throws {Refusal} RESOURCE_NOT_FOUND when the other one did not ask
 */
export async function acceptFriend(deps: FriendDeps, request: FriendRequest): Promise<FriendState> {
  return change(deps, request, async (tx, conversation) => {
    const pair = await lockPair(tx, request.userId, request.otherId);
    if (pair.forth === FRIEND_STATES.FRIENDS) return { state: 'friend', jobs: [] };
    if (pair.back !== FRIEND_STATES.ASKED)
      throw new Refusal('RESOURCE_NOT_FOUND', 'there is no request of this user', { field: 'user_id' });
    return join(deps, tx, conversation, request);
  });
}

/** The conversation's lock comes before the rows of the pair, in every transaction, as it does for a send that reads them. */
async function change(
  deps: FriendDeps,
  { userId, otherId }: FriendRequest,
  decide: (tx: Tx, conversation: LockedConversation | undefined) => Promise<Outcome>,
): Promise<FriendState> {
  const { state, jobs } = await deps.db.transaction(async (tx) => {
    const conversationId = await findP2p(tx, userId, otherId);
    return decide(tx, conversationId === undefined ? undefined : await lockConversation(tx, conversationId));
  });
  if (jobs.length > 0) await deps.enqueue(jobs);
  return state;
}

async function join(deps: FriendDeps, tx: Tx, conversation: LockedConversation | undefined, request: FriendRequest): Promise<Outcome> {
  const { userId, otherId } = request;
  await setFriendRows(
    tx,
    [
      [userId, otherId],
      [otherId, userId],
    ],
    FRIEND_STATES.FRIENDS,
  );
  await tell(deps, tx, request, otherId, 'friend.accepted');
  await tell(deps, tx, { ...request, userId: otherId, otherId: userId }, userId, 'friend.accepted');
  if (conversation === undefined) return { state: 'friend', jobs: [] };
  const payload = { friends: [userId.toString(), otherId.toString()] };
  const job = await appendChange(deps, tx, conversation, { kind: CHANGE_KINDS.GOVERNANCE, actorId: userId, payload });
  return { state: 'friend', jobs: [job] };
}

async function tell(deps: FriendDeps, tx: Tx, { userId, otherId, traceId }: FriendRequest, whom: bigint, event: string): Promise<void> {
  const pair = userId < otherId ? [userId, otherId] : [otherId, userId];
  await appendNotice({ wake: deps.wakeNotices }, tx, {
    kind: 'FRIEND',
    orderKey: `friend:${pair.join(':')}`,
    userId: whom,
    payload: {
      event,
      tenant_code: deps.tenant,
      topic: externalId('usr', whom),
      actor: { type: 'user', id: externalId('usr', userId) },
      trace_id: traceId,
      occurred_at: new Date().toISOString(),
      data: { user_id: userId.toString() },
    },
    traceId,
  });
}
