import { Router } from 'express';
import type { Request } from 'express';
import { Refusal } from '#shared/contract/reasons.ts';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import type { Administrator } from '../domain/administrator/administrator.ts';
import { action } from './action.ts';
import type { AdminApiDeps } from './deps.ts';

const DEFAULT_REASON = 'viewed in the back office';

/** Live views of a tenant's groups: each is a signed question to im-core in the administrator's name. `?reason=` says why. @see QRY-10 */
export function groupsRouter(deps: AdminApiDeps): Router {
  const router = Router();
  router.get('/tenants/:code/groups/:topic', view(deps, ''));
  router.get('/tenants/:code/groups/:topic/members', view(deps, '/members'));
  return router;
}

function view(deps: AdminApiDeps, suffix: string) {
  return action<{ code: string; topic: string }>(deps, {
    name: 'group.read',
    permission: 'group.read',
    object: ({ topic }) => topic,
    run: async (request, administrator) => {
      const { code, topic } = request.params;
      if (!deps.tenants.includes(code)) throw new Refusal('RESOURCE_NOT_FOUND', 'no such tenant', { tenant_code: code });
      const { reason, query } = readQuery(request);
      const path = `/tenants/${encodeURIComponent(code)}/groups/${encodeURIComponent(topic)}${suffix}${query}`;
      return {
        data: await deps.imCore.query({ path, operator: operator(administrator, code, reason), traceId: contextOf(request).traceId }),
      };
    },
  });
}

/** Everything but `reason` and `ctx` goes on to im-core, which judges it. */
function readQuery(request: Request<{ code: string; topic: string }>): { reason: string; query: string } {
  const parameters = new URLSearchParams(request.originalUrl.split('?').slice(1).join('?'));
  const reason = parameters.get('reason') ?? DEFAULT_REASON;
  if (reason.trim() === '' || reason.length > 255)
    throw new Refusal('INVALID_ARGUMENT', 'reason has 1 to 255 characters', { field: 'reason' });
  parameters.delete('reason');
  parameters.delete('ctx');
  const text = parameters.toString();
  return { reason, query: text === '' ? '' : `?${text}` };
}

function operator({ id, role, permissions }: Administrator, tenantCode: string, reason: string): OperatorContext {
  return { adminUserId: id, adminRole: role, adminPermissions: permissions, tenantCode, reason };
}
