import { ulid } from 'ulid';
import { MAX_TENANTS, parseTenantConfig } from '#shared/contract/tenant-config.ts';
import type { TenantConfig } from '#shared/contract/tenant-config.ts';
import { signedGet } from '#shared/platform/http/signed-get.ts';
import type { SignedClientSettings } from '#shared/platform/http/signed-get.ts';

/** Asks hotgo-admin-api for all tenants, whatever their state. @throws {Error} it is away, refuses us, or answers something else. @see CFG-52 */
export async function askTenants(settings: SignedClientSettings): Promise<readonly TenantConfig[]> {
  const path = `/internal/im-config/tenants?limit=${MAX_TENANTS}`;
  const { code, data } = await signedGet(settings, { path, traceId: `req_${ulid()}` });
  if (code !== 0) throw new Error(`hotgo-admin-api refused the question: ${String(data['reason'])}`);
  const { tenants } = data;
  if (!Array.isArray(tenants)) throw new Error('the answer has no list of tenants');
  return tenants.map(parseTenantConfig);
}
