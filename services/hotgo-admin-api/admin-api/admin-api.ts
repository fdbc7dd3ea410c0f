import type { Mount } from '#shared/platform/http/app.ts';
import { commandsRouter } from './commands-router.ts';
import type { AdminApiDeps } from './deps.ts';
import { groupsRouter } from './groups-router.ts';
import { loginRouter } from './login-router.ts';

/** The administrators' HTTP API, described in openapi.yaml beside this file. */
export function adminApi(deps: AdminApiDeps): readonly Mount[] {
  return [loginRouter(deps), commandsRouter(deps), groupsRouter(deps)].map((handler) => ({ path: '/admin/v1', handler }));
}
