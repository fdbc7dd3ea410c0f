import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MigrationError } from './migration-error.ts';
import { splitStatements } from './sql-statements.ts';

/** Which schema: what belongs to no tenant, one tenant, or the back office. */
export const SCHEMA_KINDS = ['control', 'tenant', 'hotgo'] as const;
export type SchemaKind = (typeof SCHEMA_KINDS)[number];

export const SQL_DIRECTORY = join(import.meta.dirname, '../../sql');

export interface Step {
  /** From 1. */
  readonly number: number;
  readonly statement: string;
  /** SHA-256 of the statement as it is run: a comment may change, a statement may not. */
  readonly checksum: string;
}

export interface MigrationFile {
  /** `0001_chat.sql`; the number orders the files. */
  readonly name: string;
  readonly steps: readonly Step[];
}

const NAME = /^\d{4}_[a-z0-9_]+\.sql$/;

/** The migrations of one kind, in order. @throws {MigrationError} on a name that does not order, or a number used twice */
export async function readMigrations(kind: SchemaKind, directory = SQL_DIRECTORY): Promise<readonly MigrationFile[]> {
  const folder = join(directory, kind);
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.sql')).sort();
  for (const [index, name] of names.entries()) {
    if (!NAME.test(name)) throw new MigrationError(`${kind}/${name}: a migration is named like 0001_words.sql`);
    if (names[index + 1]?.slice(0, 4) === name.slice(0, 4))
      throw new MigrationError(`${kind}: two migrations have the number ${name.slice(0, 4)}`);
  }
  return Promise.all(names.map(async (name) => ({ name, steps: steps(await readFile(join(folder, name), 'utf8')) })));
}

function steps(text: string): readonly Step[] {
  return splitStatements(text).map((statement, index) => ({
    number: index + 1,
    statement,
    checksum: createHash('sha256').update(statement).digest('hex'),
  }));
}
