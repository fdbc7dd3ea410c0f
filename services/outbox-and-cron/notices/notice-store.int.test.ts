import assert from 'node:assert/strict';
import { appendNotice } from '#shared/tenant/notice/append-notice.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { NoticeStore } from './notice-store.ts';

describe('backlog of notices', () => {
  let fresh: FreshDatabase;

  before(async () => {
    fresh = await freshDatabase('tenant');
  });
  after(() => fresh.drop());

  it('counts what still has to be handed over, and says how old the oldest of it is', async () => {
    const db = fresh.open();
    const store = new NoticeStore(db);
    assert.deepEqual(await store.backlog(), { rows: 0, oldestSeconds: 0 });
    const notice = { kind: 'EVENT', userId: 7n, payload: {}, traceId: 'req_1' } as const;
    for (const orderKey of ['done', 'old', 'new'])
      await db.transaction((tx) => appendNotice({ wake: () => undefined }, tx, { ...notice, orderKey }));
    await db.change(
      `UPDATE im_business_events_outbox SET status = 'done', created_at = NOW(3) - INTERVAL 900 SECOND WHERE order_key = 'done'`,
    );
    await db.change(`UPDATE im_business_events_outbox SET created_at = NOW(3) - INTERVAL 40 SECOND WHERE order_key = 'old'`);
    const { rows, oldestSeconds } = await store.backlog();
    assert.equal(rows, 2);
    assert.ok(oldestSeconds >= 40 && oldestSeconds < 50, String(oldestSeconds));
  });
});
