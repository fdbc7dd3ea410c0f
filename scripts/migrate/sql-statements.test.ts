import assert from 'node:assert/strict';
import { splitStatements } from './sql-statements.ts';

describe('splitStatements', () => {
  it('ends a statement at a semicolon, but not inside quotes or comments', () => {
    const text = `
      -- first; says why
      CREATE TABLE a (x INT COMMENT 'once; twice -- no comment', \`odd;name\` INT); # tail; of a line
      /* two;
         lines */ INSERT INTO a VALUES ('it''s; \\'quoted\\'');
    `;
    assert.deepEqual(splitStatements(text), [
      "CREATE TABLE a (x INT COMMENT 'once; twice -- no comment', `odd;name` INT)",
      "INSERT INTO a VALUES ('it''s; \\'quoted\\'')",
    ]);
  });

  it('takes a last statement without a semicolon, and nothing from an empty file', () => {
    assert.deepEqual(splitStatements('DROP VIEW v'), ['DROP VIEW v']);
    assert.deepEqual(splitStatements(' \n-- nothing\n;'), []);
  });
});
