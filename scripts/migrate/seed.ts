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
