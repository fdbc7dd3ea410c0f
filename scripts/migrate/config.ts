import { readFile } from 'node:fs/promises';
import { MigrationError } from './migration-error.ts';

/** A MySQL user of a service; what it may do is in grants.ts. */
export interface ServiceUser {
  readonly name: ServiceUserName;
  readonly password_file: string;
}

export const SERVICE_USERS = ['im_core', 'im_worker', 'hotgo_admin'] as const;
export type ServiceUserName = (typeof SERVICE_USERS)[number];

/** `migrate.json`, as `scripts/configure` renders it. */
export interface MigrateConfig {
  readonly mysql: { readonly address: string; readonly user: string; readonly password_file: string };
  readonly control_database: string;
  readonly hotgo_database: string;
  readonly tenants: readonly { readonly code: string; readonly database: string }[];
  readonly service_users: readonly ServiceUser[];
  readonly kafka: {
    readonly enabled: boolean;
    readonly brokers: readonly string[];
    readonly topics: readonly { readonly name: string; readonly partitions: number; readonly retention_ms: number }[];
  };
}

/** Reads a rendered file. It is ours, so only its version is checked: an older product's file lacks what we need. */
export async function readMigrateConfig(path: string): Promise<MigrateConfig> {
  const parsed = JSON.parse(await readFile(path, 'utf8')) as Partial<MigrateConfig>;
  const { mysql, control_database, hotgo_database, tenants, service_users, kafka } = parsed;
  if (!mysql || !control_database || !hotgo_database || !tenants || !service_users || !kafka) {
    throw new MigrationError(`${path} is not a migrate.json of this version; run configure again`);
  }
  return { mysql, control_database, hotgo_database, tenants, service_users, kafka };
}

/** A secret without the line end that an editor may have left. */
export async function readPassword(file: string): Promise<string> {
  return (await readFile(file, 'utf8')).trimEnd();
}
