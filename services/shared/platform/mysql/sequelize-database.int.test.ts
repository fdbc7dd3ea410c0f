import assert from 'node:assert/strict';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';

describe('a database over sequelize', () => {
  let fresh: FreshDatabase;
  before(async () => {
    fresh = await freshDatabase('hotgo');
  });
  after(() => fresh.drop());

  it('tells the same of a change as one over mysql2', async () => {
    for (const db of [fresh.openModels(), fresh.open()]) {
      await db.change('DELETE FROM admin_command_objects');
      await db.change('DELETE FROM admin_audit_log');
      const add = 'INSERT INTO admin_command_objects (order_key) VALUES (?) ON DUPLICATE KEY UPDATE orders = ?';
      const rows = async (sql: string, params: readonly (string | number)[]) => (await db.change(sql, params)).rows;
      assert.equal(await rows(add, ['a', 1]), 1);
      assert.equal(await rows(add, ['a', 1]), 2);
      assert.equal(await rows(add, ['a', 1]), 0);
      assert.equal(await rows('INSERT IGNORE INTO admin_command_objects (order_key) VALUES (?)', ['a']), 0);
      assert.equal(await rows('UPDATE admin_command_objects SET orders = ? WHERE order_key = ?', [5, 'a']), 1);
      assert.equal(await rows('UPDATE admin_command_objects SET orders = ? WHERE order_key = ?', [5, 'a']), 0);
      const audit = `INSERT INTO admin_audit_log (action, trace_id, created_at) VALUES ('x', 'y', NOW(3))`;
      const [first, second] = [await db.change(audit), await db.change(audit)];
      assert.equal(second.insertId, first.insertId + 1n);
      assert.equal(await rows('DELETE FROM admin_command_objects', []), 1);
    }
  });
});
