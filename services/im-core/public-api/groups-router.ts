import { Router } from 'express';
import type { Request } from 'express';
import { z } from 'zod';
import { externalId, parseId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { answer } from '#shared/platform/http/answer.ts';
import { cursorField, idField, limitField, parseBody, parseQuery } from '#shared/platform/http/parse-request.ts';
import { createGroup, MAX_NEW_MEMBERS } from '#shared/tenant/group/create-group.ts';
import { findGroup, findRole, listMembers } from '#shared/tenant/group/group-store.ts';
import type { Group, GroupMember } from '#shared/tenant/group/group-store.ts';
import { authenticated, identityOf } from './authenticated.ts';
import { tenantDeps } from './deps.ts';
import type { PublicApiDeps, TenantDeps } from './deps.ts';

const groupBody = z.object({ name: z.string().max(512), member_ids: z.array(idField('member_ids')).max(2 * MAX_NEW_MEMBERS) });
const membersQuery = z.object({ after: cursorField('after'), limit: limitField(100, 500) });

/** `/v1/groups`: create one, look at mine. A group is shown to its members only; for others it does not exist. @see G-16 */
export function groupsRouter(deps: PublicApiDeps): Router {
  const router = Router();
  router.use(authenticated(deps.login));
  router.post('/', async (request, response) => {
    const { tenant, userId } = identityOf(request);
    const { name, member_ids: memberIds } = parseBody(groupBody, request);
    const id = await createGroup(tenantDeps(deps, tenant), { ownerId: userId, name, memberIds });
    answer(request, response, { conversation_id: id.toString(), topic: externalId('grp', id) }, 201);
  });
  router.get('/:id', async (request, response) => {
    const { db, conversationId } = await ownGroup(deps, request);
    const group = await findGroup(db, conversationId);
    if (group === undefined) throw noSuchGroup();
    answer(request, response, groupData(group));
  });
  router.get('/:id/members', async (request, response) => {
    const { db, conversationId } = await ownGroup(deps, request);
    const { after, limit } = parseQuery(membersQuery, request);
    const found = await listMembers(db, conversationId, { after, limit: limit + 1 });
    answer(request, response, { members: found.slice(0, limit).map(memberData), has_more: found.length > limit });
  });
  return router;
}

async function ownGroup(deps: PublicApiDeps, request: Request<{ id: string }>): Promise<TenantDeps & { conversationId: bigint }> {
  const { tenant, userId } = identityOf(request);
  const conversationId = parseId(request.params.id, 'id');
  const needs = tenantDeps(deps, tenant);
  if ((await findRole(needs.db, conversationId, userId)) === undefined) throw noSuchGroup();
  return { ...needs, conversationId };
}

function noSuchGroup(): Refusal {
  return new Refusal('RESOURCE_NOT_FOUND', 'no such group among yours');
}

function groupData(group: Group): object {
  return {
    conversation_id: group.conversationId.toString(),
    topic: externalId('grp', group.conversationId),
    name: group.name,
    avatar: group.avatar,
    intro: group.intro,
    owner_id: group.ownerId.toString(),
    state: group.state,
    mute_all: group.muteAll,
    member_count: group.memberCount,
    version: group.version,
    created_at: group.createdAt.toISOString(),
  };
}

function memberData(member: GroupMember): object {
  return {
    user_id: member.userId.toString(),
    name: member.name,
    display_name: member.displayName,
    role: member.role,
    joined_at: member.joinedAt.toISOString(),
    muted: member.isMuted,
    muted_until: member.mutedUntil?.toISOString() ?? null,
  };
}
