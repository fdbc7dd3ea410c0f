import { readSecret } from '#shared/platform/config/secret.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { askTenants } from './ask-tenants.ts';
import { TenantCache } from './tenant-cache.ts';
import { TenantDirectory } from './tenant-directory.ts';

/** The rendered `admin_internal_api` of im-core. */
export interface AskingConfig {
  readonly enabled: boolean;
  readonly base: string;
  readonly service_name: string;
  readonly key: { readonly secret_file: string };
  readonly timeout_ms: number;
}

/** The directory as the settings say; undefined where asking is switched off, and every declared tenant is served. @see CFG-46 */
export async function openTenantDirectory(
  { redis, log, metrics }: { redis: Redis; log: Log; metrics: Metrics },
  { enabled, base, service_name: serviceName, key, timeout_ms: timeoutMs }: AskingConfig,
): Promise<TenantDirectory | undefined> {
  if (!enabled) return undefined;
  const secret = Buffer.from(await readSecret(key.secret_file));
  const settings = { base, serviceName, secret, timeoutMs };
  return new TenantDirectory({ ask: () => askTenants(settings), cache: new TenantCache(redis), log, metrics });
}
