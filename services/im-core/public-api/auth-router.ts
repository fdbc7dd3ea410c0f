import { Router } from 'express';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { Refusal } from '#shared/contract/reasons.ts';
import { answer } from '#shared/platform/http/answer.ts';
import { idField, parseBody } from '#shared/platform/http/parse-request.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { endDeviceSession, logIn, refreshSession } from '#shared/tenant/user/log-in.ts';
import type { Session } from '#shared/tenant/user/log-in.ts';
import { registerUser } from '#shared/tenant/user/register-user.ts';
import { authenticated, identityOf } from './authenticated.ts';
import { tenantDeps } from './deps.ts';
import type { PublicApiDeps } from './deps.ts';

const tenantCode = z.string().max(32).default('default');
const registerBody = z.object({
  name: z.string().max(256),
  password: z.string().max(1_024),
  display_name: z.string().max(256).optional(),
  tenant_code: tenantCode,
});
const loginBody = z.object({
  name: z.string().max(256),
  password: z.string().max(1_024),
  device_id: idField('device_id'),
  platform: z.string().regex(/^[a-zA-Z0-9._-]{1,32}$/, 'has 1 to 32 letters, digits and . _ -'),
  tenant_code: tenantCode,
});
const refreshBody = z.object({ refresh_token: z.string().max(128) });

/** `/v1/auth/*`: into the tenant and out again. @see G-14 @see G-15 */
export function authRouter(deps: PublicApiDeps): Router {
  const router = Router();
  const door: RequestHandler = (request, _response, next) => {
    deps.limits.assertDoor(contextOf(request).realIp);
    next();
  };
  router.post('/register', door, async (request, response) => {
    const body = parseBody(registerBody, request);
    const db = deps.login.databases.get(body.tenant_code);
    if (db === undefined) throw new Refusal('RESOURCE_NOT_FOUND', 'no such tenant', { field: 'tenant_code' });
    deps.login.assertTenant(body.tenant_code);
    const { passwords } = deps.login;
    const { name, password, display_name: displayName } = body;
    const user = await registerUser(
      { db, ids: deps.ids, passwords, registration: deps.registration },
      { name, password, ...(displayName === undefined ? {} : { displayName }) },
    );
    answer(request, response, { user_id: user.userId.toString(), name: user.name, display_name: user.displayName }, 201);
  });
  router.post('/login', door, async (request, response) => {
    const { name, password, device_id: deviceId, platform, tenant_code: tenant } = parseBody(loginBody, request);
    const { realIp } = contextOf(request);
    answer(request, response, sessionData(await logIn(deps.login, { tenant, name, password, deviceId, platform, realIp })));
  });
  router.post('/refresh', door, async (request, response) => {
    answer(request, response, sessionData(await refreshSession(deps.login, parseBody(refreshBody, request).refresh_token)));
  });
  router.post('/logout', authenticated(deps.login), async (request, response) => {
    const { tenant, userId, deviceId } = identityOf(request);
    await tenantDeps(deps, tenant).db.transaction((tx) => endDeviceSession(tx, userId, deviceId));
    answer(request, response, {});
  });
  return router;
}

function sessionData(session: Session): object {
  return {
    user_id: session.userId.toString(),
    access_token: session.accessToken,
    access_expires_at: session.accessExpiresAt.toISOString(),
    refresh_token: session.refreshToken,
  };
}
