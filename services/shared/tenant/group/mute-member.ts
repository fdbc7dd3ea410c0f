import { CHANGE_KINDS, CONVERSATION_TYPES, USER_STATES } from '#shared/contract/commands.ts';
import { externalId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Tx } from '#shared/platform/mysql/database.ts';
import { appendChange } from '../conversation/append-change.ts';
import { lockConversation } from '../conversation/lock-conversation.ts';
import type { LockedConversation } from '../conversation/lock-conversation.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import { appendNotice } from '../notice/append-notice.ts';
import { findRole } from './group-store.ts';
import { findActorState, findGroupState, raiseGroupVersion, removeMute, setMute } from './mute-store.ts';

export interface GroupCommandDeps {
  readonly tenant: string;
  readonly ids: IdGenerator;
  /** Queues delivery after commit. Must not throw; what is lost the sweeper repairs. */
  readonly enqueue: (jobs: readonly DeliverJob[]) => void;
  /** Wakes the notice worker of this tenant. */
  readonly wakeNotices: () => void;
}

/** What every group command of the back office names. */
export interface GroupCommand {
  readonly groupId: bigint;
  readonly userId: bigint;
  /** User of the tenant in whose name the back office acts. */
  readonly actorId: bigint;
  /** Version the sender has seen; undefined = not checked. */
  readonly expectedVersion: number | undefined;
  readonly traceId: string;
}

export interface MuteMember extends GroupCommand {
  /** Null = until it is lifted. */
  readonly expiresAt: Date | null;
  readonly reason: string;
}

export interface GroupChanged {
  /** Of the group, after the command (G-24). */
  readonly version: number;
  /** Undefined when there was nothing to change. */
  readonly changeId: bigint | undefined;
}

/** The event that members are told, for muting and unmuting alike. */
export const MUTE_UPDATED = 'group.mute.updated';

/**
 * Silences a member of a group; his next send is refused, since sending reads the mute under the same lock.
 *
 * @throws {Refusal} RESOURCE_NOT_FOUND (no such group, dissolved, not a member) | FORBIDDEN (actor unknown) | GROUP_VERSION_CONFLICT | BUSY
 * @see CMD-40 @see CMD-41 @see GRP-05
 */
export async function muteMember(deps: GroupCommandDeps, tx: Tx, mute: MuteMember): Promise<GroupChanged> {
  const { conversation, version } = await lockGroup(tx, mute);
  await setMute(tx, { conversationId: mute.groupId, ...mute });
  return tell(deps, tx, { conversation, version, command: mute, isMuted: true, expiresAt: mute.expiresAt });
}

/**
 * Lifts a mute. Lifting what is not there changes nothing and is no error.
 *
 * @throws {Refusal} as muteMember
 * @see CMD-42
 */
export async function unmuteMember(deps: GroupCommandDeps, tx: Tx, command: GroupCommand): Promise<GroupChanged> {
  const { conversation, version } = await lockGroup(tx, command);
  if (!(await removeMute(tx, command.groupId, command.userId))) return { version, changeId: undefined };
  return tell(deps, tx, { conversation, version, command, isMuted: false, expiresAt: null });
}

async function lockGroup(tx: Tx, command: GroupCommand): Promise<{ conversation: LockedConversation; version: number }> {
  const { groupId, userId, actorId, expectedVersion } = command;
  const topic = externalId('grp', groupId);
  if ((await findActorState(tx, actorId)) !== USER_STATES.OK) {
    throw new Refusal('FORBIDDEN', 'the actor is no active user of this tenant', { actor_user_id: externalId('usr', actorId) });
  }
  const conversation = await lockConversation(tx, groupId);
  const group = conversation?.type === CONVERSATION_TYPES.GROUP ? await findGroupState(tx, groupId) : undefined;
  if (conversation === undefined || group?.state !== 1) throw new Refusal('RESOURCE_NOT_FOUND', 'no such group', { topic });
  if ((await findRole(tx, groupId, userId)) === undefined) {
    throw new Refusal('RESOURCE_NOT_FOUND', 'no such member', { topic, user_id: externalId('usr', userId) });
  }
  if (expectedVersion !== undefined && expectedVersion !== group.version) {
    throw new Refusal('GROUP_VERSION_CONFLICT', 'the group has changed', { topic, version: group.version });
  }
  return { conversation, version: group.version };
}

interface MuteChange {
  readonly conversation: LockedConversation;
  /** Before the command. */
  readonly version: number;
  readonly command: GroupCommand;
  readonly isMuted: boolean;
  readonly expiresAt: Date | null;
}

/** The change in the chain, the group's new version and the notice to the members. */
async function tell(
  deps: GroupCommandDeps,
  tx: Tx,
  { conversation, version, command, isMuted, expiresAt }: MuteChange,
): Promise<GroupChanged> {
  const { groupId, userId, actorId, traceId } = command;
  const data = { user_id: userId.toString(), is_muted: isMuted, expires_at: expiresAt?.toISOString() ?? null };
  const job = await appendChange(deps, tx, conversation, {
    kind: CHANGE_KINDS.GOVERNANCE,
    actorId,
    payload: { event: MUTE_UPDATED, ...data },
  });
  await raiseGroupVersion(tx, groupId);
  const topic = externalId('grp', groupId);
  await appendNotice({ wake: deps.wakeNotices }, tx, {
    kind: 'EVENT',
    orderKey: topic,
    conversationId: groupId,
    payload: {
      event: MUTE_UPDATED,
      tenant_code: deps.tenant,
      topic,
      actor: { type: 'user', id: externalId('usr', actorId) },
      trace_id: traceId,
      occurred_at: new Date().toISOString(),
      data: { conversation_id: groupId.toString(), ...data, version: version + 1, change_id: job.changeId.toString() },
    },
    traceId,
  });
  tx.afterCommit(() => deps.enqueue([job]));
  return { version: version + 1, changeId: job.changeId };
}
