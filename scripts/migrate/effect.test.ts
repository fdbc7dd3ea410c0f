import assert from 'node:assert/strict';
import { effectOf } from './effect.ts';
import { MigrationError } from './migration-error.ts';

describe('the effect of a statement', () => {
  const known: readonly (readonly [string, object])[] = [
    ['CREATE TABLE t_x (id INT, b INT)', { kind: 'table', name: 't_x', present: true }],
    ['create table `t_x`(id INT)', { kind: 'table', name: 't_x', present: true }],
    ['DROP TABLE t_x', { kind: 'table', name: 't_x', present: false }],
    ['CREATE VIEW v AS SELECT 1, 2', { kind: 'view', name: 'v', present: true }],
    ['CREATE OR REPLACE VIEW v AS SELECT 1', { kind: 'repeatable' }],
    ['CREATE UNIQUE INDEX uk ON t_x (a, b)', { kind: 'index', table: 't_x', name: 'uk', present: true }],
    ['ALTER TABLE t_x ADD INDEX k (a, b)', { kind: 'index', table: 't_x', name: 'k', present: true }],
    ['ALTER TABLE t_x\n  ADD COLUMN c DECIMAL(10, 2) NOT NULL', { kind: 'column', table: 't_x', name: 'c', present: true }],
    ["ALTER TABLE t_x ADD COLUMN c INT COMMENT 'one, two', ALGORITHM=INSTANT", { kind: 'column', table: 't_x', name: 'c', present: true }],
    ['ALTER TABLE t_x DROP COLUMN c', { kind: 'column', table: 't_x', name: 'c', present: false }],
    ['ALTER TABLE t_x MODIFY COLUMN c BIGINT', { kind: 'repeatable' }],
    ['INSERT INTO t_x VALUES (1)', { kind: 'rows' }],
  ];
  for (const [statement, effect] of known) {
    it(`is known for: ${statement.replaceAll('\n', ' ')}`, () => {
      assert.deepEqual(effectOf(statement), effect);
    });
  }

  const refused = [
    'ALTER TABLE t_x ADD COLUMN a INT, ADD COLUMN b INT',
    'DROP TABLE a, b',
    'TRUNCATE t_x',
    'CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW SET @a = 1',
    'GRANT ALL ON *.* TO x',
  ];
  for (const statement of refused) {
    it(`is refused, because a killed run could not go on: ${statement}`, () => {
      assert.throws(() => effectOf(statement), MigrationError);
    });
  }
});
