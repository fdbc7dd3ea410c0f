/** What the back office tells about a tenant at `/internal/im-config`. No login, no address, no secret: those are rendered, not asked for. */

/** `active` serves; `disabled` was closed by an administrator; `removed` is no longer in the settings of the appliance. */
export const TENANT_STATES = ['active', 'disabled', 'removed'] as const;
export type TenantState = (typeof TENANT_STATES)[number];

/** As it travels. @see CFG-20 @see CFG-30 @see CFG-41 */
export interface TenantConfig {
  readonly code: string;
  readonly state: TenantState;
  readonly db_name: string;
  /** Decimal; raised with every change. A value is stored only when its version is not lower than the one that is there. */
  readonly config_version: string;
}

/** Most tenants in one answer, and what is answered without `limit`. @see CFG-32 */
export const MAX_TENANTS = 1_000;

const VERSION = /^(?:0|[1-9][0-9]{0,17})$/;

/** Reads one tenant of an answer or of the cache. @throws {Error} naming the member that is wrong, never its value */
export function parseTenantConfig(value: unknown): TenantConfig {
  if (typeof value !== 'object' || value === null) throw new Error('a tenant is an object');
  const { code, state, db_name, config_version } = value as Readonly<Record<string, unknown>>;
  const known = TENANT_STATES.find((candidate) => candidate === state);
  if (typeof code !== 'string' || code === '') throw new Error('code is missing');
  if (known === undefined) throw new Error('state is none that we know');
  if (typeof db_name !== 'string') throw new Error('db_name is missing');
  if (typeof config_version !== 'string' || !VERSION.test(config_version)) throw new Error('config_version is no decimal number');
  return { code, state: known, db_name, config_version };
}

/** Whether `next` may take the place of `present`. */
export function isNotLower(next: TenantConfig, present: TenantConfig): boolean {
  return BigInt(next.config_version) >= BigInt(present.config_version);
}
