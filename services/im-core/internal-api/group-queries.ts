import { z } from 'zod';
import type { Request } from 'express';
import { MEMBER_ROLES } from '#shared/contract/commands.ts';
import { externalId, parseExternalId, parseId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { limitField, parseQuery } from '#shared/platform/http/parse-request.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { findGroup, listMembers } from '#shared/tenant/group/group-store.ts';
import type { Group, GroupMember } from '#shared/tenant/group/group-store.ts';
import type { AdminQuery } from './admin-query.ts';

const ROLE_WORDS = { owner: MEMBER_ROLES.OWNER, admin: MEMBER_ROLES.ADMIN, member: MEMBER_ROLES.MEMBER } as const;
/** Who could be given a role: whoever has another one, except the owner, who can only hand his on. */
const ELIGIBLE = {
  owner: [MEMBER_ROLES.ADMIN, MEMBER_ROLES.MEMBER],
  admin: [MEMBER_ROLES.MEMBER],
  member: [MEMBER_ROLES.ADMIN],
} as const;

const role = z.enum(['owner', 'admin', 'member']);
const membersQuery = z.object({
  limit: limitField(50, 200),
  cursor: z.string().max(64).optional(),
  role: role.optional(),
  eligible_role: role.optional(),
  q: z.string().max(64).optional(),
});

/** `GET /tenants/{code}/groups/{topic}`: a group and how it is governed. @see QRY-03 */
export const groupQuery: AdminQuery = {
  path: '/tenants/:tenantCode/groups/:topic',
  permission: 'group.read',
  async run(db, request, tenant) {
    return groupData(await groupOf(db, request), tenant);
  },
};

/** `GET /tenants/{code}/groups/{topic}/members`: a page of members, by role or by the beginning of a name or id. @see QRY-04 @see G-31 */
export const groupMembersQuery: AdminQuery = {
  path: '/tenants/:tenantCode/groups/:topic/members',
  permission: 'group.read',
  async run(db, request) {
    const { limit, cursor, role: only, eligible_role: eligible, q } = parseQuery(membersQuery, request);
    const { conversationId } = await groupOf(db, request);
    const roles = rolesOf(only, eligible);
    const prefix = q === undefined || q === '' ? {} : { prefix: q.normalize('NFC') };
    const found =
      roles?.length === 0
        ? []
        : await listMembers(db, conversationId, {
            after: readCursor(cursor),
            limit: limit + 1,
            ...(roles === undefined ? {} : { roles }),
            ...prefix,
          });
    const members = found.slice(0, limit);
    const last = members.at(-1);
    return { members: members.map(memberData), next_cursor: found.length > limit && last !== undefined ? writeCursor(last.userId) : null };
  },
};

type RoleWord = keyof typeof ROLE_WORDS;

function rolesOf(only: RoleWord | undefined, eligible: RoleWord | undefined): readonly number[] | undefined {
  if (eligible === undefined) return only === undefined ? undefined : [ROLE_WORDS[only]];
  const roles: readonly number[] = ELIGIBLE[eligible];
  return only === undefined ? roles : roles.filter((candidate) => candidate === ROLE_WORDS[only]);
}

function writeCursor(userId: bigint): string {
  return Buffer.from(userId.toString()).toString('base64url');
}

function readCursor(cursor: string | undefined): bigint {
  return cursor === undefined || cursor === '' ? 0n : parseId(Buffer.from(cursor, 'base64url').toString('latin1'), 'cursor', 0n);
}

async function groupOf(db: Database, request: Request): Promise<Group> {
  const topic = request.params['topic'];
  const group = await findGroup(db, parseExternalId(topic, ['grp'], 'topic').id);
  if (group === undefined) throw new Refusal('RESOURCE_NOT_FOUND', 'no such group');
  return group;
}

function groupData(group: Group, tenant: string): object {
  return {
    tenant_code: tenant,
    topic: externalId('grp', group.conversationId),
    conversation_id: group.conversationId.toString(),
    name: group.name,
    avatar: group.avatar,
    intro: group.intro,
    owner_id: externalId('usr', group.ownerId),
    state: group.state === 1 ? 'normal' : 'dissolved',
    member_count: group.memberCount,
    member_version: group.memberVersion.toString(),
    version: group.version,
    governance: { mute_all: group.muteAll, join_approval: group.joinApproval, member_invite: group.memberInvite },
    created_at: group.createdAt.toISOString(),
    updated_at: group.updatedAt.toISOString(),
  };
}

function memberData(member: GroupMember): object {
  const word = (Object.keys(ROLE_WORDS) as RoleWord[]).find((candidate) => ROLE_WORDS[candidate] === member.role);
  return {
    user_id: externalId('usr', member.userId),
    name: member.name,
    display_name: member.displayName,
    role: word ?? 'member',
    joined_at: member.joinedAt.toISOString(),
    muted: member.isMuted,
    muted_until: member.mutedUntil?.toISOString() ?? null,
  };
}
