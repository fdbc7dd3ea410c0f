import type { Queryable } from '#shared/platform/mysql/database.ts';
import { quoted } from './apply-schema.ts';
import { JOURNAL_TABLE } from './journal.ts';
import type { SchemaKind } from './migration-files.ts';

/** The schema as MySQL holds it now: tables, then views, by name; without rows, counters, definers and the database's own name. */
export async function dumpSchema(connection: Queryable, kind: SchemaKind, database: string): Promise<string> {
  const tables = await connection.select<{ name: string; type: string }>(
    `SELECT table_name AS name, table_type AS type FROM information_schema.tables
      WHERE table_schema = ? AND table_name <> ? ORDER BY table_type, CAST(table_name AS BINARY)`,
    [database, JOURNAL_TABLE],
  );
  const statements: string[] = [];
  for (const { name, type } of tables) statements.push(await showCreate(connection, database, name, type === 'VIEW'));
  const head = `-- Generated from sql/${kind}/*.sql; edits are lost. Made again by: scripts/migrate/write-dumps.ts`;
  return `${[head, ...statements.map((statement) => `${statement};`)].join('\n\n')}\n`;
}

async function showCreate(connection: Queryable, database: string, name: string, isView: boolean): Promise<string> {
  const [row] = await connection.select<Record<string, string>>(`SHOW CREATE TABLE ${quoted(database)}.${quoted(name)}`);
  const text = row?.[isView ? 'Create View' : 'Create Table'] ?? '';
  if (!isView) return text.replace(/ AUTO_INCREMENT=\d+/, '');
  return text
    .replaceAll(`${quoted(database)}.`, '')
    .replace(/ALGORITHM=\w+ DEFINER=\S+ /, '')
    .replace(/ (from|where|join) /gi, '\n  $1 ');
}
