import { CHANGE_KINDS, MEMBER_ROLES } from '#shared/contract/commands.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Database, Tx } from '#shared/platform/mysql/database.ts';
import { appendChange } from '../conversation/append-change.ts';
import { lockConversation } from '../conversation/lock-conversation.ts';
import type { LockedConversation } from '../conversation/lock-conversation.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import { findProfiles } from '../user/user-store.ts';
import { insertGroup, insertMembers } from './group-store.ts';

export interface GroupDeps {
  readonly db: Database;
  readonly tenant: string;
  readonly ids: IdGenerator;
  /** Queues delivery after commit; what is lost is repaired by the sweeper. */
  readonly enqueue: (jobs: readonly DeliverJob[]) => Promise<void>;
}

export interface NewGroup {
  readonly ownerId: bigint;
  readonly name: string;
  /** With or without the owner, repeats allowed. */
  readonly memberIds: readonly bigint[];
}

/** Members of a new group at most, the owner among them. */
export const MAX_NEW_MEMBERS = 500;
/** The ids of one change fit its payload column (8 KiB) with room. */
const JOINED_PER_CHANGE = 300;

/**
 * Creates a group whose owner is its creator. Its chain begins with the MEMBER changes by which everybody joins, so that every later change,
 * the first message too, has members to go to.
 *
 * @returns the conversation id
 * @throws {Refusal} INVALID_ARGUMENT (name, too many) | RESOURCE_NOT_FOUND (a member does not exist) | BUSY
 * @see G-16
 */
export async function createGroup(deps: GroupDeps, { ownerId, name, memberIds }: NewGroup): Promise<bigint> {
  const groupName = checkedName(name);
  const members = [ownerId, ...new Set(memberIds.filter((id) => id !== ownerId))];
  if (members.length > MAX_NEW_MEMBERS) {
    throw new Refusal('INVALID_ARGUMENT', `a new group has at most ${MAX_NEW_MEMBERS} members`, {
      field: 'member_ids',
      max: MAX_NEW_MEMBERS,
    });
  }
  const conversationId = deps.ids.next();
  const jobs = await deps.db.transaction(async (tx) => {
    await assertPeople(tx, members);
    await insertGroup(tx, { conversationId, name: groupName, ownerId });
    return joinAll(deps, tx, { conversationId, ownerId, members });
  });
  await deps.enqueue(jobs);
  return conversationId;
}

function checkedName(text: string): string {
  const name = text.normalize('NFC').trim();
  if (name !== '' && Array.from(name).length <= 128 && !/\p{Cc}/u.test(name)) return name;
  throw new Refusal('INVALID_ARGUMENT', 'name has 1 to 128 characters on one line', { field: 'name' });
}

async function assertPeople(tx: Tx, ids: readonly bigint[]): Promise<void> {
  const found = new Set((await findProfiles(tx, ids)).map(({ userId }) => userId));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new Refusal('RESOURCE_NOT_FOUND', 'no such user', { field: 'member_ids', user_id: missing.toString() });
}

async function joinAll(
  deps: GroupDeps,
  tx: Tx,
  { conversationId, ownerId, members }: { conversationId: bigint; ownerId: bigint; members: readonly bigint[] },
): Promise<readonly DeliverJob[]> {
  const jobs: DeliverJob[] = [];
  let head = await lockConversation(tx, conversationId);
  if (head === undefined) throw new Error('a group that was just inserted is gone');
  for (let from = 0; from < members.length; from += JOINED_PER_CHANGE) {
    const joined = members.slice(from, from + JOINED_PER_CHANGE);
    const job = await join(deps, tx, head, { ownerId, joined });
    jobs.push(job);
    head = { ...head, lastChangeId: job.changeId };
  }
  return jobs;
}

async function join(
  deps: GroupDeps,
  tx: Tx,
  conversation: LockedConversation,
  { ownerId, joined }: { ownerId: bigint; joined: readonly bigint[] },
): Promise<DeliverJob> {
  const payload = { joined: joined.map((id) => id.toString()) };
  const job = await appendChange(deps, tx, conversation, { kind: CHANGE_KINDS.MEMBER, actorId: ownerId, payload });
  const members = joined.map((userId) => ({ userId, role: userId === ownerId ? MEMBER_ROLES.OWNER : MEMBER_ROLES.MEMBER }));
  await insertMembers(tx, { conversationId: conversation.id, changeId: job.changeId }, members);
  return job;
}
