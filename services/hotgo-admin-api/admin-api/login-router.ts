import { Router } from 'express';
import type { Request } from 'express';
import { z } from 'zod';
import { Refusal } from '#shared/contract/reasons.ts';
import { answer } from '#shared/platform/http/answer.ts';
import { parseBody } from '#shared/platform/http/parse-request.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { logInAdministrator } from '../domain/administrator/administrator.ts';
import { insertAdminAction } from '../domain/audit/audit-store.ts';
import { action } from './action.ts';
import type { AdminApiDeps } from './deps.ts';

const loginBody = z.object({ name: z.string().max(64), password: z.string().max(1_024) });

/** `/admin/v1/login` and `/admin/v1/me`. */
export function loginRouter(deps: AdminApiDeps): Router {
  const router = Router();
  router.post('/login', async (request, response) => {
    const { name, password } = parseBody(loginBody, request);
    const { realIp, traceId } = contextOf(request);
    const { administrator, token, expiresAt } = await logInAdministrator(deps, { name, password, realIp }).catch(async (error: unknown) => {
      await recordRefusal(deps, request, name, error);
      throw error;
    });
    await insertAdminAction(deps.db, {
      adminId: administrator.id,
      adminName: administrator.name,
      action: 'login',
      outcome: '',
      traceId,
      realIp,
    });
    answer(request, response, { access_token: token, access_expires_at: expiresAt.toISOString(), role: administrator.role });
  });
  router.get(
    '/me',
    action(deps, {
      name: 'me.read',
      run: (_request, { id, name, role, permissions }) => Promise.resolve({ data: { id, name, role, permissions } }),
    }),
  );
  return router;
}

/** Names an administrator only where there is one of that name: what was typed may be a password in the wrong field. */
async function recordRefusal(deps: AdminApiDeps, request: Request, name: string, error: unknown): Promise<void> {
  if (!(error instanceof Refusal)) return;
  const { realIp, traceId } = contextOf(request);
  const known = await deps.administrators.findOne({ where: { name: name.normalize('NFC') } });
  await insertAdminAction(deps.db, {
    adminId: known?.id ?? '0',
    adminName: known?.name ?? '',
    action: 'login',
    outcome: error.reason,
    traceId,
    realIp,
  });
}
