import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '#shared/platform/mysql/connection.ts';
import { ER, mysqlErrorNumber } from '#shared/platform/mysql/database.ts';
import { effectOf, isThere } from './effect.ts';
import { openJournal, pendingSteps, record } from './journal.ts';
import { MigrationError } from './migration-error.ts';
import { readMigrations, SQL_DIRECTORY } from './migration-files.ts';
import type { MigrationFile, SchemaKind, Step } from './migration-files.ts';
import { withNamedLock } from './named-lock.ts';

/** Seconds a statement waits for open transactions on its table. Everybody else queues behind it meanwhile, so it is short and tried again. */
const LOCK_WAIT_SECONDS = 3;
const LOCK_ATTEMPTS = 20;
const OTHER_RUN_SECONDS = 600;

export interface SchemaOptions {
  /** Folder with `control/`, `tenant/` and `hotgo/`. Default `sql/` of the product. */
  readonly directory?: string;
  /** Called before each statement that is run. */
  readonly progress?: (line: string) => void;
}

/**
 * Creates `database` if need be and brings it to the newest schema of `kind`. Does nothing when it is there already.
 * Two runs at once take turns; a run that was killed at any point is continued by the next.
 *
 * @param connection one session as an administrator; its default database is `database` afterwards
 * @returns how many statements were run or recognised
 * @throws {MigrationError} on a changed, unknown or unordered file, before anything is touched
 */
export async function applySchema(
  connection: Connection,
  kind: SchemaKind,
  database: string,
  options: SchemaOptions = {},
): Promise<number> {
  const { directory = SQL_DIRECTORY, progress = () => undefined } = options;
  const files = await readMigrations(kind, directory);
  for (const { steps } of files) for (const { statement } of steps) effectOf(statement);
  await createDatabase(connection, database);
  await connection.change(`USE ${quoted(database)}`);
  await connection.change(`SET SESSION lock_wait_timeout = ${LOCK_WAIT_SECONDS}`);
  return withNamedLock(connection, database, OTHER_RUN_SECONDS, async () => {
    const pending = pendingSteps(files, await openJournal(connection), database);
    for (const { file, step } of pending) {
      progress(`${database}: ${file.name} step ${step.number} of ${file.steps.length}`);
      await applyStep(connection, database, file, step);
    }
    return pending.length;
  });
}

/** Asked first, because even IF NOT EXISTS waits for every open transaction in a database that is there. */
async function createDatabase(connection: Connection, database: string): Promise<void> {
  const present = await connection.select('SELECT 1 AS there FROM information_schema.schemata WHERE schema_name = ?', [database]);
  if (present.length > 0) return;
  await connection.change(`CREATE DATABASE IF NOT EXISTS ${quoted(database)} CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci`);
}

async function applyStep(connection: Connection, database: string, file: MigrationFile, step: Step): Promise<void> {
  const effect = effectOf(step.statement);
  if (effect.kind === 'rows') {
    await connection.transaction(async () => {
      await connection.change(step.statement);
      await record(connection, file, step);
    });
    return;
  }
  if (!(await isThere(connection, database, effect))) await withPatience(database, file, step, () => connection.change(step.statement));
  await record(connection, file, step);
}

/** Between two attempts the queue that built up behind the statement runs dry. */
async function withPatience(database: string, file: MigrationFile, step: Step, run: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await run();
      return;
    } catch (error) {
      const where = `${database}: ${file.name} step ${step.number}`;
      if (mysqlErrorNumber(error) !== ER.LOCK_WAIT_TIMEOUT) throw new MigrationError(`${where}: ${String(error)}`, { cause: error });
      if (attempt === LOCK_ATTEMPTS)
        throw new MigrationError(`${where}: a long transaction holds the table; start again later`, { cause: error });
      await pause(1_000);
    }
  }
}

export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
