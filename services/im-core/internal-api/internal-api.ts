import type { Mount } from '#shared/platform/http/app.ts';
import { adminQueryRouter } from './admin-query.ts';
import type { AdminQueryDeps } from './admin-query.ts';
import { groupMembersQuery, groupQuery } from './group-queries.ts';

/** Everything that other services may ask im-core over HTTP. */
export function internalApi(deps: AdminQueryDeps): readonly Mount[] {
  return [{ path: '/internal/admin-query', handler: adminQueryRouter(deps, [groupQuery, groupMembersQuery]) }];
}
