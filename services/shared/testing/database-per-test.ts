import { randomBytes } from 'node:crypto';
import { applySchema } from '#scripts/migrate/apply-schema.ts';
import type { SchemaKind } from '#scripts/migrate/migration-files.ts';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import type { Connection } from '#shared/platform/mysql/connection.ts';
import type { Database, MysqlLogin } from '#shared/platform/mysql/database.ts';
import { openDatabase } from '#shared/platform/mysql/mysql-database.ts';
import { openModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import type { ModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import { testServers } from './servers.ts';

export interface FreshDatabase {
  readonly name: string;
  readonly login: MysqlLogin;
  /** A pool as our services use it; closed by `drop`. */
  open(poolSize?: number): Database;
  /** The same for code that uses sequelize models. */
  openModels(poolSize?: number): ModelDatabase;
  /** Closes every pool that was opened here and drops the database. */
  drop(): Promise<void>;
}

/**
 * A database of its own with the newest schema of this kind, and nothing in it. Drop it in `after`.
 * @param login where to make it; default the servers of the run, as root
 */
export async function freshDatabase(kind: SchemaKind, login: MysqlLogin = testServers().mysql): Promise<FreshDatabase> {
  const name = `t_${kind}_${randomBytes(6).toString('hex')}`;
  await asAdministrator(login, (connection) => applySchema(connection, kind, name));
  const opened: Database[] = [];
  const keep = <Opened extends Database>(database: Opened): Opened => {
    opened.push(database);
    return database;
  };
  return {
    name,
    login,
    open: (poolSize = 10) => keep(openDatabase(login, name, { poolSize })),
    openModels: (poolSize = 10) => keep(openModelDatabase(login, name, { poolSize })),
    async drop() {
      await Promise.all(opened.map((database) => database.close()));
      await asAdministrator(login, (connection) => connection.change(`DROP DATABASE IF EXISTS ${name}`));
    },
  };
}

/** A tenant code that no other test uses; what is stored under it can be found by it. */
export function freshTenantCode(): string {
  return `t${randomBytes(5).toString('hex')}`;
}

async function asAdministrator<T>(login: MysqlLogin, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await openConnection(login);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}
