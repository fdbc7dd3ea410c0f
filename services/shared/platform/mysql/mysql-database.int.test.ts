import assert from 'node:assert/strict';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';

describe('MysqlDatabase', () => {
  let fresh: FreshDatabase;
  before(async () => {
    fresh = await freshDatabase('control');
  });
  after(() => fresh.drop());

  it('gives a connection back once, also when what runs after the commit fails', async () => {
    const db = fresh.open(1);
    await db.change('CREATE TABLE given_back (n INT PRIMARY KEY)');
    const wake = db.transaction((tx) => {
      tx.afterCommit(() => {
        throw new Error('a wake-up that fails');
      });
      return Promise.resolve();
    });
    // One connection, so the second begins when the first has ended: were it lent twice, the second's BEGIN would commit the first's row.
    const begun = Promise.withResolvers<undefined>();
    const first = db.transaction(async (tx) => {
      await tx.change('INSERT INTO given_back VALUES (1)');
      begun.resolve(undefined);
      for (let n = 0; n < 5; n += 1) await tx.select('SELECT 1');
      throw new Error('rolled back');
    });
    await assert.rejects(wake, /a wake-up that fails/);
    await begun.promise;
    const second = db.transaction((tx) => tx.select('SELECT 1'));
    await assert.rejects(first, /rolled back/);
    await second;
    assert.equal((await db.select('SELECT n FROM given_back')).length, 0);
  });
});
