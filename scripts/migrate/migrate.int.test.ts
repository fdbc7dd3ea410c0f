import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import type { Connection } from '#shared/platform/mysql/connection.ts';
import { mysqlErrorNumber } from '#shared/platform/mysql/database.ts';
import { startOwnMysql } from '#shared/testing/own-servers.ts';
import type { OwnMysql } from '#shared/testing/own-servers.ts';
import { applySchema } from './apply-schema.ts';
import type { MigrateConfig, ServiceUserName } from './config.ts';
import { SERVICE_USERS } from './config.ts';
import { dumpSchema } from './dump.ts';
import { namedTables } from './grants.ts';
import { migrateMysql } from './migrate.ts';
import { readMigrations, SCHEMA_KINDS, SQL_DIRECTORY } from './migration-files.ts';
import type { SchemaKind } from './migration-files.ts';

const silent = (): undefined => undefined;

describe('migrate', function () {
  this.timeout(120_000);
  let server: OwnMysql;
  let admin: Connection;
  let folder: string;

  before(async () => {
    server = await startOwnMysql();
    admin = await openConnection(server);
    folder = await mkdtemp('/tmp/ima-migrate-');
  });

  after(async () => {
    await admin.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** An appliance of its own on the server: databases with this prefix, the same service users. */
  async function configOf(prefix: string): Promise<MigrateConfig> {
    const passwordFile = async (name: string, password: string): Promise<string> => {
      const file = join(folder, name);
      await writeFile(file, `${password}\n`);
      return file;
    };
    return {
      mysql: { address: server.address, user: server.user, password_file: await passwordFile('root', server.password) },
      control_database: `${prefix}_control`,
      hotgo_database: `${prefix}_hotgo`,
      tenants: [{ code: 'default', database: `${prefix}_default` }],
      service_users: await Promise.all(
        SERVICE_USERS.map(async (name) => ({ name, password_file: await passwordFile(name, `of ${name}`) })),
      ),
      kafka: { enabled: false, brokers: [], topics: [] },
    };
  }

  const databasesOf = (config: MigrateConfig): readonly (readonly [SchemaKind, string])[] => [
    ['control', config.control_database],
    ['hotgo', config.hotgo_database],
    ...config.tenants.map(({ database }) => ['tenant', database] as const),
  ];

  async function assertWhole(config: MigrateConfig): Promise<void> {
    for (const [kind, database] of databasesOf(config)) {
      assert.equal(await dumpSchema(admin, kind, database), await readFile(join(SQL_DIRECTORY, 'dump', `${kind}.sql`), 'utf8'), database);
    }
    const [seeded] = await admin.select<{ users: string; epochs: string }>(
      `SELECT (SELECT COUNT(*) FROM ${config.tenants[0]?.database ?? ''}.t_users WHERE name = 'svc-hotgo' AND kind = 2) AS users,
              (SELECT COUNT(*) FROM ${config.tenants[0]?.database ?? ''}.t_tenant_state WHERE name = 'sync_epoch') AS epochs`,
    );
    assert.deepEqual({ ...seeded }, { users: '1', epochs: '1' });
  }

  it('makes the schema of the checked-in dumps; run scripts/migrate/write-dumps.ts after a new migration', async () => {
    const config = await configOf('whole');
    await migrateMysql(config, silent);
    await assertWhole(config);
  });

  it('changes nothing on a second run', async () => {
    const config = await configOf('twice');
    await migrateMysql(config, silent);
    const lines: string[] = [];
    await migrateMysql(config, (line) => lines.push(line));
    assert.ok(lines.length > 0 && lines.every((line) => line.endsWith('nothing to change')), lines.join('\n'));
  });

  it('tells the back office the declared tenants: a disabled one stays so, one that is taken away is removed and comes back', async () => {
    const config = await configOf('told');
    await migrateMysql(config, silent);
    const rows = async (): Promise<readonly string[]> =>
      (
        await admin.select<{ code: Buffer; state: string; version: string }>(
          `SELECT code, state, config_version AS version FROM ${config.hotgo_database}.admin_tenants ORDER BY code`,
        )
      ).map(({ code, state, version }) => `${code.toString()} ${state} ${version}`);
    assert.deepEqual(await rows(), ['default active 1']);
    const more = { ...config, tenants: [...config.tenants, { code: 'second', database: 'told_second' }] };
    await migrateMysql(more, silent);
    await admin.change(`UPDATE ${config.hotgo_database}.admin_tenants SET state = 'disabled', config_version = 5 WHERE code = 'default'`);
    await migrateMysql(more, silent);
    assert.deepEqual(await rows(), ['default disabled 5', 'second active 1']);
    for (const run of [1, 2]) {
      await migrateMysql(config, silent);
      assert.deepEqual(await rows(), ['default disabled 5', 'second removed 2'], `run ${run}`);
    }
    await migrateMysql(more, silent);
    assert.deepEqual(await rows(), ['default disabled 5', 'second active 3']);
  });

  it('may run several times at once', async () => {
    const config = await configOf('atonce');
    await Promise.all([1, 2, 3, 4].map(() => migrateMysql(config, silent)));
    await assertWhole(config);
  });

  it('is continued by the next run after a kill at any statement', async () => {
    const steps = (await readMigrations('tenant')).flatMap(({ name, steps: all }) => all.map(({ number }) => `${name} step ${number} of`));
    for (const [index, step] of [0, 1, 2, 11, steps.length - 1].entries()) {
      const config = await configOf(`killed${index}`);
      await killAt(config, steps[step] ?? '');
      await migrateMysql(config, silent);
      await assertWhole(config);
    }
  });

  /** Runs the program and kills it when it says that it begins this statement. */
  async function killAt(config: MigrateConfig, line: string): Promise<void> {
    const file = join(folder, `${config.control_database}.json`);
    await writeFile(file, JSON.stringify(config));
    const child = spawn(process.execPath, [join(import.meta.dirname, 'migrate.ts'), file], { stdio: ['ignore', 'pipe', 'ignore'] });
    const exited = once(child, 'exit');
    for await (const said of createInterface({ input: child.stdout })) if (said.includes(line)) child.kill('SIGKILL');
    const [, signal] = (await exited) as [number | null, string | null];
    assert.equal(signal, 'SIGKILL', `never came to ${line}`);
  }

  it('recognises the effect of a statement whose journal row was lost', async () => {
    const config = await configOf('journal');
    await migrateMysql(config, silent);
    const database = config.tenants[0]?.database ?? '';
    // What a kill between a statement and its row leaves, for every file in turn, from its end on.
    for (const { name, steps } of (await readMigrations('tenant')).toReversed()) {
      const isFirst = (statement: string): boolean => /^(CREATE|ALTER)/i.test(statement);
      const last = steps.findLast(({ statement }) => isFirst(statement))?.number ?? 0;
      await admin.change(`DELETE FROM ${database}.schema_journal WHERE file = ? AND step = ? ORDER BY step DESC`, [name, last]);
      if (last === steps.length) await migrateMysql(config, silent);
      await assertWhole(config);
    }
    const [journal] = await admin.select<{ rows: string }>(`SELECT COUNT(*) AS \`rows\` FROM ${database}.schema_journal`);
    const expected = (await readMigrations('tenant')).flatMap(({ steps }) => steps).length;
    assert.equal(journal?.rows, String(expected));
  });

  it('refuses a file that was changed after it was applied, and touches nothing', async () => {
    const directory = join(folder, 'changed');
    await mkdir(join(directory, 'tenant'), { recursive: true });
    const file = join(directory, 'tenant/0001_first.sql');
    await writeFile(file, 'CREATE TABLE a (x INT PRIMARY KEY);\n');
    await applySchema(admin, 'tenant', 'changed', { directory });
    await writeFile(file, '-- a comment may change\nCREATE TABLE a (x INT PRIMARY KEY);\n');
    assert.equal(await applySchema(admin, 'tenant', 'changed', { directory }), 0);
    await writeFile(file, 'CREATE TABLE a (x BIGINT PRIMARY KEY);\n');
    await writeFile(join(directory, 'tenant/0002_second.sql'), 'CREATE TABLE b (x INT PRIMARY KEY);\n');
    await assert.rejects(applySchema(admin, 'tenant', 'changed', { directory }), /0001_first\.sql step 1 was changed/);
    assert.deepEqual(await admin.select(`SHOW TABLES FROM changed LIKE 'b'`), []);
  });

  it('waits for a table that a transaction holds, and goes on when it is free', async () => {
    const directory = join(folder, 'held');
    await mkdir(join(directory, 'tenant'), { recursive: true });
    await writeFile(join(directory, 'tenant/0001_first.sql'), 'CREATE TABLE a (x INT PRIMARY KEY);\n');
    await applySchema(admin, 'tenant', 'held', { directory });
    await writeFile(join(directory, 'tenant/0002_second.sql'), 'ALTER TABLE a ADD COLUMN y INT NULL;\n');
    const reader = await openConnection(server, 'held');
    let isReleased = false;
    const migrating = reader.transaction(async () => {
      await reader.select('SELECT x FROM a');
      const waiting = await openConnection(server);
      const applied = applySchema(waiting, 'tenant', 'held', { directory }).finally(() => waiting.close());
      await untilWaitsForMetadata();
      isReleased = true;
      return { applied };
    });
    assert.equal(await (await migrating).applied, 1);
    assert.ok(isReleased);
    await reader.close();
  });

  async function untilWaitsForMetadata(): Promise<void> {
    const deadline = Date.now() + 20_000;
    for (;;) {
      const waiting = await admin.select(
        `SELECT 1 AS waits FROM information_schema.processlist WHERE state LIKE 'Waiting for table metadata%'`,
      );
      if (waiting.length > 0) return;
      assert.ok(Date.now() < deadline, 'nobody waited');
    }
  }

  it('sets the password of the file when another one is in the server', async () => {
    const config = await configOf('password');
    await migrateMysql(config, silent);
    const user = config.service_users[0];
    assert.ok(user !== undefined);
    await writeFile(user.password_file, 'another\n');
    await migrateMysql(config, silent);
    await (await openConnection({ address: server.address, user: user.name, password: 'another' })).close();
    await assert.rejects(openConnection({ address: server.address, user: user.name, password: `of ${user.name}` }), /Access denied/);
  });

  it('takes away what a service user was given beside the list', async () => {
    const config = await configOf('surplus');
    await migrateMysql(config, silent);
    await admin.change(`GRANT ALL ON surplus_hotgo.* TO 'im_core'@'%'`);
    await admin.change(`GRANT PROCESS ON *.* TO 'im_worker'@'%'`);
    await migrateMysql(config, silent);
    const grants = (await Promise.all(SERVICE_USERS.map((user) => admin.select<object>(`SHOW GRANTS FOR '${user}'@'%'`))))
      .flat()
      .map((row) => String(Object.values(row)[0]));
    for (const grant of grants) {
      assert.match(
        grant,
        /^GRANT (USAGE ON \*\.\*|(SELECT|INSERT|UPDATE|DELETE)(, (SELECT|INSERT|UPDATE|DELETE))* ON `surplus_\w+`\.`\w+`) TO /,
      );
      assert.ok(!grant.includes('schema_journal'));
    }
  });

  describe('gives each service its own tables and no other', () => {
    let config: MigrateConfig;
    const refusedWith = new Set([1044, 1142, 1143, 1227]);

    before(async () => {
      config = await configOf('matrix');
      await migrateMysql(config, silent);
    });

    const samples: Readonly<Record<SchemaKind, { readonly table: string; readonly update: string }>> = {
      control: { table: 't_leases', update: 'owner = owner' },
      tenant: { table: 't_groups', update: 'name = name' },
      hotgo: { table: 'admin_outbox', update: 'topic = topic' },
    };
    const allowed: Readonly<Record<ServiceUserName, readonly SchemaKind[]>> = {
      im_core: ['control', 'tenant'],
      im_worker: ['control', 'tenant'],
      hotgo_admin: ['hotgo'],
    };

    for (const user of SERVICE_USERS) {
      for (const kind of SCHEMA_KINDS) {
        const isAllowed = allowed[user].includes(kind);
        it(`${user} in ${kind}: ${isAllowed ? 'SELECT, INSERT, UPDATE, no DDL' : 'nothing'}`, async () => {
          const database = databasesOf(config).find(([of]) => of === kind)?.[1] ?? '';
          const { table, update } = samples[kind];
          const at = `\`${database}\`.${table}`;
          const connection = await openConnection({ address: server.address, user, password: `of ${user}` });
          const outcome = async (sql: string): Promise<'done' | 'refused'> => {
            try {
              await (sql.startsWith('SELECT') ? connection.select(sql) : connection.change(sql));
              return 'done';
            } catch (error) {
              if (refusedWith.has(mysqlErrorNumber(error) ?? 0)) return 'refused';
              throw error;
            }
          };
          const dml = [
            `SELECT 1 FROM ${at} LIMIT 1`,
            `INSERT INTO ${at} SELECT * FROM ${at} WHERE 1 = 0`,
            `UPDATE ${at} SET ${update} WHERE 1 = 0`,
          ];
          const ddl = [
            `CREATE TABLE \`${database}\`.intruder (x INT)`,
            `ALTER TABLE ${at} ADD COLUMN intruder INT`,
            `CREATE INDEX intruder ON ${at} (${update.split(' ')[0] ?? ''})`,
            `DROP TABLE ${at}`,
            `TRUNCATE ${at}`,
            `CREATE VIEW \`${database}\`.intruder AS SELECT 1 AS x`,
            `CREATE DATABASE intruder`,
            `GRANT SELECT ON ${at} TO '${user}'@'%'`,
          ];
          for (const sql of dml) assert.equal(await outcome(sql), isAllowed ? 'done' : 'refused', sql);
          for (const sql of ddl) assert.equal(await outcome(sql), 'refused', sql);
          assert.equal(await outcome(`SELECT 1 FROM \`${database}\`.schema_journal LIMIT 1`), 'refused');
          await connection.close();
        });
      }
    }

    it('keeps stored messages from being deleted by anybody (INV-12)', async () => {
      const database = config.tenants[0]?.database ?? '';
      for (const user of ['im_core', 'im_worker']) {
        const connection = await openConnection({ address: server.address, user, password: `of ${user}` }, database);
        await assert.rejects(connection.change('DELETE FROM t_messages WHERE 1 = 0'), (error) => mysqlErrorNumber(error) === 1142);
        await connection.close();
      }
    });

    it('names no table that does not exist', async () => {
      for (const [kind, database] of databasesOf(config)) {
        const rows = await admin.select<{ name: string }>(
          'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?',
          [database],
        );
        const present = new Set(rows.map(({ name }) => name));
        assert.deepEqual(
          namedTables(kind).filter((table) => !present.has(table)),
          [],
          kind,
        );
      }
    });
  });
});
