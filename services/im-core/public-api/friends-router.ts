import { Router } from 'express';
import type { Request } from 'express';
import { z } from 'zod';
import { answer } from '#shared/platform/http/answer.ts';
import { cursorField, idField, limitField, parseBody, parseQuery } from '#shared/platform/http/parse-request.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { acceptFriend, requestFriend } from '#shared/tenant/friend/befriend.ts';
import type { FriendRequest } from '#shared/tenant/friend/befriend.ts';
import { listFriends } from '#shared/tenant/friend/friend-store.ts';
import { authenticated, identityOf } from './authenticated.ts';
import { tenantDeps } from './deps.ts';
import type { PublicApiDeps } from './deps.ts';

const otherBody = z.object({ user_id: idField('user_id') });
const pageQuery = z.object({ after: cursorField('after'), limit: limitField(200, 500) });

/** `/v1/friends`: ask, accept, list. @see FRD-03 @see G-17 */
export function friendsRouter(deps: PublicApiDeps): Router {
  const router = Router();
  router.use(authenticated(deps.login));
  router.post('/requests', async (request, response) => {
    answer(request, response, { state: await requestFriend(tenantDeps(deps, identityOf(request).tenant), friendRequest(request)) });
  });
  router.post('/accept', async (request, response) => {
    answer(request, response, { state: await acceptFriend(tenantDeps(deps, identityOf(request).tenant), friendRequest(request)) });
  });
  router.get('/', async (request, response) => {
    const { after, limit } = parseQuery(pageQuery, request);
    const { tenant, userId } = identityOf(request);
    const found = await listFriends(tenantDeps(deps, tenant).db, userId, after, limit + 1);
    const friends = found.slice(0, limit).map((entry) => ({
      user_id: entry.userId.toString(),
      name: entry.name,
      display_name: entry.displayName,
      remark: entry.remark,
      state: entry.state,
    }));
    answer(request, response, { friends, has_more: found.length > limit });
  });
  return router;
}

function friendRequest(request: Request): FriendRequest {
  return { userId: identityOf(request).userId, otherId: parseBody(otherBody, request).user_id, traceId: contextOf(request).traceId };
}
