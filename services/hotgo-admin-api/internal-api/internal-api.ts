import type { Mount } from '#shared/platform/http/app.ts';
import type { TenantModel } from '../domain/tenant/tenant-model.ts';
import { imConfigRouter } from './im-config.ts';
import type { ImConfigDeps } from './im-config.ts';
import { tenantQueries } from './tenant-queries.ts';

export interface InternalApiDeps extends ImConfigDeps {
  readonly tenants: TenantModel;
}

/** Everything that other services may ask hotgo-admin-api over HTTP. */
export function internalApi(deps: InternalApiDeps): readonly Mount[] {
  return [{ path: '/internal/im-config', handler: imConfigRouter(deps, tenantQueries(deps.tenants)) }];
}
