/**
 * What a statement leaves behind, so that a run can tell whether it happened.
 *
 * MySQL commits DDL by itself and cannot commit the journal row with it. When a run dies between the two, the next one finds the effect
 * without its row. Statements whose effect cannot be recognised, and that may not run twice, are refused when they are written.
 */
import type { Queryable } from '#shared/platform/mysql/database.ts';
import { MigrationError } from './migration-error.ts';

export type Effect =
  | { readonly kind: 'table' | 'view'; readonly name: string; readonly present: boolean }
  | { readonly kind: 'index' | 'column'; readonly table: string; readonly name: string; readonly present: boolean }
  /** May run twice with the same end, such as MODIFY COLUMN. */
  | { readonly kind: 'repeatable' }
  /** Rows only: commits together with its journal row. */
  | { readonly kind: 'rows' };

const NAME = '`?(\\w+)`?';
const table = (name: string, present: boolean): Effect => ({ kind: 'table', name, present });
const view = (name: string, present: boolean): Effect => ({ kind: 'view', name, present });
const index = (name: string, on: string, present: boolean): Effect => ({ kind: 'index', table: on, name, present });
const column = (on: string, name: string, present: boolean): Effect => ({ kind: 'column', table: on, name, present });

const FORMS: readonly (readonly [RegExp, (first: string, second: string) => Effect])[] = [
  [form(`CREATE TABLE (?:IF NOT EXISTS )?${NAME}`), (name) => table(name, true)],
  [form(`DROP TABLE ${NAME}$`), (name) => table(name, false)],
  [form('CREATE OR REPLACE VIEW'), () => ({ kind: 'repeatable' })],
  [form(`CREATE (?:SQL SECURITY INVOKER )?VIEW ${NAME}`), (name) => view(name, true)],
  [form(`DROP VIEW ${NAME}$`), (name) => view(name, false)],
  [form(`CREATE (?:UNIQUE |FULLTEXT )?INDEX ${NAME} ON ${NAME}`), (name, on) => index(name, on, true)],
  [form(`DROP INDEX ${NAME} ON ${NAME}`), (name, on) => index(name, on, false)],
  [form(`ALTER TABLE ${NAME} ADD (?:UNIQUE )?(?:INDEX|KEY) ${NAME}`), (on, name) => index(name, on, true)],
  [form(`ALTER TABLE ${NAME} DROP (?:INDEX|KEY) ${NAME}`), (on, name) => index(name, on, false)],
  [form(`ALTER TABLE ${NAME} ADD COLUMN ${NAME}`), (on, name) => column(on, name, true)],
  [form(`ALTER TABLE ${NAME} DROP COLUMN ${NAME}`), (on, name) => column(on, name, false)],
  [form(`ALTER TABLE ${NAME} (?:MODIFY COLUMN|COMMENT)`), () => ({ kind: 'repeatable' })],
  [form('(?:INSERT|UPDATE|DELETE)'), () => ({ kind: 'rows' })],
];

function form(pattern: string): RegExp {
  return new RegExp(`^${pattern.replaceAll(' ', '\\s+')}(?=\\W|$)`, 'i');
}

/** @throws {MigrationError} for a statement that a killed run could not be continued from */
export function effectOf(statement: string): Effect {
  for (const [pattern, effect] of FORMS) {
    const found = pattern.exec(statement);
    if (found === null) continue;
    const made = effect(found[1] ?? '', found[2] ?? '');
    if (isAlter(statement) && hasSeveralActions(statement)) break;
    return made;
  }
  throw new MigrationError(
    `this statement could not be continued after a kill; write one action per statement (CREATE/DROP TABLE, VIEW, INDEX; ALTER TABLE ... ADD/DROP/MODIFY COLUMN, ADD/DROP INDEX; INSERT, UPDATE, DELETE): ${statement.slice(0, 80)}`,
  );
}

function isAlter(statement: string): boolean {
  return /^ALTER/i.test(statement);
}

/** A comma outside brackets and quotes separates the actions of an ALTER. */
function hasSeveralActions(statement: string): boolean {
  const bare = statement.replace(/'(?:[^'\\]|\\.|'')*'/g, '');
  let depth = 0;
  for (const character of bare) {
    if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === ',' && depth === 0 && !/,\s*(?:ALGORITHM|LOCK)\s*=/i.test(bare)) return true;
  }
  return false;
}

/** Whether the database already is as the statement would leave it. Never true for rows. */
export async function isThere(connection: Queryable, database: string, effect: Effect): Promise<boolean> {
  if (effect.kind === 'rows' || effect.kind === 'repeatable') return false;
  const rows = await connection.select(...question(database, effect));
  return rows.length > 0 === effect.present;
}

function question(database: string, effect: Exclude<Effect, { kind: 'rows' | 'repeatable' }>): [string, string[]] {
  switch (effect.kind) {
    case 'table':
    case 'view':
      return [`SELECT 1 AS there FROM information_schema.tables WHERE table_schema = ? AND table_name = ?`, [database, effect.name]];
    case 'column':
      return [
        `SELECT 1 AS there FROM information_schema.columns WHERE table_schema = ? AND table_name = ? AND column_name = ?`,
        [database, effect.table, effect.name],
      ];
    case 'index':
      return [
        `SELECT 1 AS there FROM information_schema.statistics WHERE table_schema = ? AND table_name = ? AND index_name = ?`,
        [database, effect.table, effect.name],
      ];
  }
}
