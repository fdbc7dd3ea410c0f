import { CONVERSATION_TYPES, MEMBER_ROLES, USER_STATES } from '#shared/contract/commands.ts';
import type { Reason } from '#shared/contract/reasons.ts';
import type { NewMessage } from './new-message.ts';

/** What MySQL says, under the lock of the conversations, about everybody who sends in one batch. Pairs are `pairKey(a, b)`. */
export interface SendFacts {
  readonly userStates: ReadonlyMap<bigint, number>;
  /** (conversation, user) of present members -> role. */
  readonly members: ReadonlyMap<string, number>;
  /** Conversation -> the two users of a P2P conversation. */
  readonly peers: ReadonlyMap<bigint, readonly [bigint, bigint]>;
  /** (user, friend), both ways for friends. */
  readonly friends: ReadonlySet<string>;
  /** (user, blocked). */
  readonly blocked: ReadonlySet<string>;
  readonly groups: ReadonlyMap<bigint, { readonly state: number; readonly isMutedForAll: boolean }>;
  /** (conversation, user) of members who may not speak now. */
  readonly mutes: ReadonlySet<string>;
}

export function pairKey(one: bigint, other: bigint): string {
  return `${one.toString()}:${other.toString()}`;
}

/**
 * Why this message may not be stored, or undefined. The order is fixed, so the same situation always gives the same reason.
 *
 * @see MSG-30 @see MSG-31
 */
export function refuseToSend(facts: SendFacts, message: NewMessage, conversationType: number): Reason | undefined {
  if (message.isSystem === true) return undefined;
  if (facts.userStates.get(message.senderId) !== USER_STATES.OK) return 'ACCOUNT_SUSPENDED';
  return conversationType === CONVERSATION_TYPES.P2P ? refuseP2p(facts, message) : refuseGroup(facts, message);
}

function refuseP2p({ peers, friends, blocked }: SendFacts, { conversationId, senderId }: NewMessage): Reason | undefined {
  const pair = peers.get(conversationId);
  if (pair === undefined || !pair.includes(senderId)) return 'NOT_A_MEMBER';
  const peer = pair[0] === senderId ? pair[1] : pair[0];
  if (blocked.has(pairKey(senderId, peer)) || blocked.has(pairKey(peer, senderId))) return 'BLOCKED';
  if (!friends.has(pairKey(senderId, peer))) return 'NOT_FRIENDS';
  return undefined;
}

function refuseGroup({ members, groups, mutes }: SendFacts, { conversationId, senderId }: NewMessage): Reason | undefined {
  const group = groups.get(conversationId);
  if (group?.state !== 1) return 'RESOURCE_NOT_FOUND';
  const pair = pairKey(conversationId, senderId);
  const role = members.get(pair);
  if (role === undefined) return 'NOT_A_MEMBER';
  if (mutes.has(pair)) return 'MEMBER_MUTED';
  if (group.isMutedForAll && role === MEMBER_ROLES.MEMBER) return 'GROUP_MUTED';
  return undefined;
}
