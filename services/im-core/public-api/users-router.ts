import { Router } from 'express';
import { z } from 'zod';
import { Refusal } from '#shared/contract/reasons.ts';
import { answer } from '#shared/platform/http/answer.ts';
import { parseQuery } from '#shared/platform/http/parse-request.ts';
import { findProfileByName, findProfiles } from '#shared/tenant/user/user-store.ts';
import type { Profile } from '#shared/tenant/user/user-store.ts';
import { authenticated, identityOf } from './authenticated.ts';
import { tenantDeps } from './deps.ts';
import type { PublicApiDeps } from './deps.ts';

const nameQuery = z.object({ name: z.string().min(1).max(256) });

/** `/v1/me` and `/v1/users`: who I am, and who has this name. @see USR-01 */
export function usersRouter(deps: PublicApiDeps): Router {
  const router = Router();
  router.use(['/me', '/users'], authenticated(deps.login));
  router.get('/me', async (request, response) => {
    const { tenant, userId, deviceId } = identityOf(request);
    const [profile] = await findProfiles(tenantDeps(deps, tenant).db, [userId]);
    if (profile === undefined) throw new Refusal('UNAUTHORIZED', 'this account does not exist');
    answer(request, response, { ...profileData(profile), device_id: deviceId.toString(), tenant_code: tenant });
  });
  router.get('/users', async (request, response) => {
    const { name } = parseQuery(nameQuery, request);
    const profile = await findProfileByName(tenantDeps(deps, identityOf(request).tenant).db, name.normalize('NFC'));
    answer(request, response, { users: profile === undefined ? [] : [profileData(profile)] });
  });
  return router;
}

function profileData({ userId, name, displayName }: Profile): object {
  return { user_id: userId.toString(), name, display_name: displayName };
}
