import type { Queryable } from '#shared/platform/mysql/database.ts';
import { MigrationError } from './migration-error.ts';

/** Name of the user in whose name the back office acts in a tenant. It has no password and cannot log in. */
export const SERVICE_USER_NAME = 'svc-hotgo';
/** Below every generated id, so it can never meet one. */
const SERVICE_USER_ID = 1n;

const SEED = `
  INSERT INTO t_users (id, name, display_name, kind, password_hash, created_at, updated_at)
  VALUES (?, ?, 'HotGo', 2, '', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3)) ON DUPLICATE KEY UPDATE id = id`;

/** Rows that every tenant has. The default database of `connection` is the tenant's. Idempotent. */
export async function seedTenant(connection: Queryable, database: string): Promise<void> {
  await connection.change(SEED, [SERVICE_USER_ID, SERVICE_USER_NAME]);
  const [row] = await connection.select<{ kind: number }>('SELECT kind FROM t_users WHERE name = ?', [SERVICE_USER_NAME]);
  if (row?.kind !== 2) throw new MigrationError(`${database}: the name ${SERVICE_USER_NAME} belongs to a person; rename that user first`);
}

const TENANT = `
  INSERT INTO admin_tenants (code, database_name, created_at, updated_at) VALUES (?, ?, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
  ON DUPLICATE KEY UPDATE config_version = config_version + (state = 'removed'),
    updated_at = IF(state = 'removed', UTC_TIMESTAMP(3), updated_at), state = IF(state = 'removed', 'active', state)`;
const REMOVED = `
  UPDATE admin_tenants SET state = 'removed', config_version = config_version + 1, updated_at = UTC_TIMESTAMP(3)
   WHERE code NOT IN (?) AND state <> 'removed'`;

/**
 * Tells the back office which tenants the settings declare. A tenant that an administrator has disabled stays so; one that the settings no
 * longer name is `removed`, and active again when they do. The default database of `connection` is hotgo's. Idempotent.
 */
export async function seedTenants(
  connection: Queryable,
  tenants: readonly { readonly code: string; readonly database: string }[],
): Promise<void> {
  for (const { code, database } of tenants) await connection.change(TENANT, [code, database]);
  await connection.change(REMOVED, [tenants.map(({ code }) => code)]);
}
