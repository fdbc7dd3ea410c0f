/**
 * Brings databases, users, rights, rows and topics to what this version of the product needs. The only program that may change a schema.
 *
 * Usage: node scripts/migrate/migrate.ts <home>/rendered/current/migrate.json [databases|topics]
 * Exit: 0 done (also when there was nothing to do); 1 could not finish, start it again; 2 wrong arguments.
 */
import type { Connection } from '#shared/platform/mysql/connection.ts';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import { ensureTopics } from '#shared/platform/kafka/topics.ts';
import { applySchema } from './apply-schema.ts';
import { readMigrateConfig, readPassword } from './config.ts';
import type { MigrateConfig } from './config.ts';
import { grantAll } from './grants.ts';
import type { SchemaKind } from './migration-files.ts';
import { withNamedLock } from './named-lock.ts';
import { seedTenant, seedTenants } from './seed.ts';
import { ensureUsers } from './users.ts';

export { applySchema } from './apply-schema.ts';
export type { MigrateConfig } from './config.ts';

type Progress = (line: string) => void;

/**
 * Everything, in an order that a kill at any point leaves repeatable: schemas, rows, users, rights, topics. MySQL must answer; Kafka is
 * waited for. Nothing is changed on a second run.
 */
export async function migrateAll(config: MigrateConfig, progress: Progress): Promise<void> {
  await migrateMysql(config, progress);
  if (config.kafka.enabled) await migrateKafka(config, progress);
}

/** Databases, rows, users and rights. */
export async function migrateMysql(config: MigrateConfig, progress: Progress): Promise<void> {
  const { address, user, password_file } = config.mysql;
  const connection = await openConnection({ address, user, password: await readPassword(password_file) });
  try {
    for (const { name, kind } of databasesOf(config)) {
      const steps = await applySchema(connection, kind, name, { progress });
      progress(steps === 0 ? `${name}: nothing to change` : `${name}: ${steps} statements applied`);
      if (kind === 'tenant') await seedTenant(connection, name);
      if (kind === 'hotgo') await seedTenants(connection, config.tenants);
    }
    await migrateUsers(connection, config, progress);
  } finally {
    await connection.close();
  }
}

async function migrateUsers(connection: Connection, config: MigrateConfig, progress: Progress): Promise<void> {
  await withNamedLock(connection, 'users and rights', 60, async () => {
    await ensureUsers(connection, config.mysql.address, config.service_users);
    const changed = await grantAll(connection, databasesOf(config));
    progress(changed === 0 ? 'rights: nothing to change' : `rights: ${changed} changed`);
  });
}

function databasesOf(config: MigrateConfig): readonly { name: string; kind: SchemaKind }[] {
  return [
    { name: config.control_database, kind: 'control' },
    { name: config.hotgo_database, kind: 'hotgo' },
    ...config.tenants.map(({ database }) => ({ name: database, kind: 'tenant' as const })),
  ];
}

/** Topics with their partitions and retention. */
export async function migrateKafka({ kafka }: MigrateConfig, progress: Progress): Promise<void> {
  const topics = kafka.topics.map(({ name, partitions, retention_ms }) => ({ name, partitions, retentionMs: retention_ms }));
  const created = await ensureTopics({ brokers: kafka.brokers, progress }, topics);
  progress(created.length === 0 ? 'topics: nothing to change' : `topics: ${created.length} created`);
}

/** What the program does when it is told to do only one half. */
const HALVES: Readonly<Record<string, (config: MigrateConfig, progress: Progress) => Promise<void>>> = {
  all: migrateAll,
  databases: migrateMysql,
  topics: async (config, progress) => (config.kafka.enabled ? migrateKafka(config, progress) : undefined),
};

async function program(path: string | undefined, half = 'all'): Promise<number> {
  const work = HALVES[half];
  if (path === undefined || work === undefined) {
    process.stderr.write('usage: migrate.ts <home>/rendered/current/migrate.json [databases|topics]\n');
    return 2;
  }
  try {
    await work(await readMigrateConfig(path), (line) => process.stdout.write(`${line}\n`));
    return 0;
  } catch (error) {
    process.stderr.write(`migrate: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

if (import.meta.main) process.exitCode = await program(process.argv[2], process.argv[3]);
