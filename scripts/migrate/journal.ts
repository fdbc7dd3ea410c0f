import type { Queryable } from '#shared/platform/mysql/database.ts';
import type { MigrationFile, Step } from './migration-files.ts';
import { MigrationError } from './migration-error.ts';

export const JOURNAL_TABLE = 'schema_journal';

const CREATE = `
  CREATE TABLE IF NOT EXISTS ${JOURNAL_TABLE} (
    file        VARBINARY(128) NOT NULL,
    step        SMALLINT UNSIGNED NOT NULL COMMENT 'number of the statement in the file, from 1',
    steps       SMALLINT UNSIGNED NOT NULL COMMENT 'statements of the file when this one was applied',
    checksum    BINARY(32) NOT NULL COMMENT 'SHA-256 of the statement',
    applied_at  DATETIME(3) NOT NULL,
    PRIMARY KEY (file, step)
  ) COMMENT='One row per statement of the migrations that this database has.'`;
const READ = `SELECT CAST(file AS CHAR) AS file, step, steps, LOWER(HEX(checksum)) AS checksum FROM ${JOURNAL_TABLE} ORDER BY file, step`;
const RECORD = `INSERT INTO ${JOURNAL_TABLE} (file, step, steps, checksum, applied_at) VALUES (?, ?, ?, ?, UTC_TIMESTAMP(3))`;

interface JournalRow {
  readonly file: string;
  readonly step: number;
  readonly steps: number;
  readonly checksum: string;
}

export type Journal = ReadonlyMap<string, readonly JournalRow[]>;

export async function openJournal(connection: Queryable): Promise<Journal> {
  await connection.change(CREATE);
  const rows = await connection.select<JournalRow>(READ);
  return Map.groupBy(rows, (row) => row.file);
}

export async function record(connection: Queryable, file: MigrationFile, step: Step): Promise<void> {
  await connection.change(RECORD, [file.name, step.number, file.steps.length, Buffer.from(step.checksum, 'hex')]);
}

/**
 * The steps that are still to do.
 *
 * @throws {MigrationError} when an applied statement changed, when statements were added to or taken from a file that was applied whole,
 * when the database has a file that this product does not know (it is newer), or a new file would run before an applied one.
 * The rest of a file that was only half applied may be corrected.
 */
export function pendingSteps(
  files: readonly MigrationFile[],
  journal: Journal,
  database: string,
): readonly { file: MigrationFile; step: Step }[] {
  const known = new Set(files.map(({ name }) => name));
  const unknown = [...journal.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new MigrationError(
      `${database} has migrations that this version does not know (${unknown.join(', ')}): it belongs to a newer version`,
    );
  }
  const newest = [...journal.keys()].sort().at(-1) ?? '';
  return files.flatMap((file) => {
    const applied = journal.get(file.name) ?? [];
    if (applied.length === 0 && file.name < newest)
      throw new MigrationError(`${file.name} would run in ${database} after ${newest}: give it a higher number`);
    assertUnchanged(file, applied, database);
    return file.steps.slice(applied.length).map((step) => ({ file, step }));
  });
}

function assertUnchanged(file: MigrationFile, applied: readonly JournalRow[], database: string): void {
  for (const [index, row] of applied.entries()) {
    if (row.step !== index + 1) throw new MigrationError(`the journal of ${database} lacks step ${index + 1} of ${file.name}`);
    if (file.steps[index]?.checksum !== row.checksum) {
      throw new MigrationError(`${file.name} step ${row.step} was changed after ${database} had it: write a new migration instead`);
    }
  }
  const last = applied.at(-1);
  if (last !== undefined && applied.length === last.steps && file.steps.length !== last.steps) {
    throw new MigrationError(`statements were added to ${file.name} after ${database} had it: write a new migration instead`);
  }
}
