import { parseTenantConfig } from '#shared/contract/tenant-config.ts';
import type { TenantConfig } from '#shared/contract/tenant-config.ts';
import { Script } from '#shared/platform/redis/redis.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';

// Versions are decimal texts: the longer one is higher, and of two that are equally long the one that sorts later.
const STORE = new Script(`
for i = 1, #ARGV, 3 do
  local present = redis.call('HGET', KEYS[1], ARGV[i])
  local old = present and string.match(present, '"config_version":"(%d+)"') or '0'
  local new = ARGV[i + 1]
  if #new > #old or (#new == #old and new >= old) then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
end`);

/** The last good copy of what the back office said about tenants, shared by all processes and kept over restarts. @see X-13 @see CFG-43 */
export class TenantCache {
  readonly #redis: Redis;
  readonly #key: string;

  constructor(redis: Redis, key = 'im:config:tenants') {
    this.#redis = redis;
    this.#key = key;
  }

  /** What is there and can be read. @throws when Redis is away */
  async load(): Promise<readonly TenantConfig[]> {
    return Object.values(await this.#redis.hgetall(this.#key)).flatMap((text) => {
      try {
        return [parseTenantConfig(JSON.parse(text))];
      } catch {
        return []; // of another version of the product; the next answer takes its place
      }
    });
  }

  /** Keeps each value unless a higher version of it is there. @throws when Redis is away */
  async store(tenants: readonly TenantConfig[]): Promise<void> {
    if (tenants.length === 0) return;
    const values = tenants.flatMap((tenant) => [tenant.code, tenant.config_version, JSON.stringify(tenant)]);
    await STORE.run(this.#redis, [this.#key], values);
  }
}
