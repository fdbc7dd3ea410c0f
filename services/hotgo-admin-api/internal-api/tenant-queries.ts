import { z } from 'zod';
import type { Request } from 'express';
import { MAX_TENANTS, TENANT_STATES } from '#shared/contract/tenant-config.ts';
import { limitField, parseQuery } from '#shared/platform/http/parse-request.ts';
import { findTenant, listTenants } from '../domain/tenant/find-tenants.ts';
import type { TenantModel } from '../domain/tenant/tenant-model.ts';
import type { ConfigQuery } from './im-config.ts';

const noQuery = z.strictObject({});
const listQuery = z.strictObject({ state: z.enum(TENANT_STATES).optional(), limit: limitField(MAX_TENANTS, MAX_TENANTS) });

/**
 * The tenants, in both sets of paths that callers know. `by-code` and `by-id` are no tenant codes, so the paths cannot meet.
 *
 * @see CFG-20 @see CFG-30 @see CFG-32 @see X-19
 */
export function tenantQueries(tenants: TenantModel): readonly ConfigQuery[] {
  const one = (path: string): ConfigQuery => ({
    path,
    run: async (request) => {
      parseQuery(noQuery, request);
      return findTenant(tenants, codeOf(request));
    },
  });
  return [
    one('/tenants/by-code/:tenantCode'),
    one('/tenants/:tenantCode'),
    {
      path: '/tenants',
      run: async (request) => {
        const { state, limit } = parseQuery(listQuery, request);
        return { tenants: await listTenants(tenants, { limit, ...(state === undefined ? {} : { state }) }) };
      },
    },
  ];
}

function codeOf(request: Request): string {
  const code = request.params['tenantCode'];
  return typeof code === 'string' ? code : '';
}
