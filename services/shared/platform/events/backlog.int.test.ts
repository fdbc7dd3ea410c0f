import assert from 'node:assert/strict';
import type { Database } from '../mysql/database.ts';
import { Metrics } from '../metrics/metrics.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { RelayStore } from './relay-store.ts';
import { watchBacklog } from './watch-backlog.ts';

describe('backlog of an outbox', () => {
  let fresh: FreshDatabase;
  let db: Database;

  before(async () => {
    fresh = await freshDatabase('tenant');
    db = fresh.open();
  });
  after(() => fresh.drop());
  beforeEach(() => db.change('DELETE FROM im_kafka_outbox'));

  let events = 0;
  async function row(shard: number, status: string, ageSeconds: number): Promise<void> {
    const sql = `INSERT INTO im_kafka_outbox (shard, topic, order_key, event_id, envelope, trace_id, status, next_retry_at, created_at)
      VALUES (?, 'im.audit.event', 'k', ?, '{}', 'req_1', ?, NOW(3), NOW(3) - INTERVAL ? SECOND)`;
    await db.change(sql, [shard, `evt_${(events += 1)}`, status, ageSeconds]);
  }

  it('counts what still has to be sent, and says how old the oldest of it is', async () => {
    const store = new RelayStore(db, 'im_kafka_outbox');
    assert.deepEqual(await store.backlog(), { rows: 0, oldestSeconds: 0 });
    await row(3, 'sent', 900);
    await row(3, 'dead', 800);
    assert.deepEqual(await store.backlog(), { rows: 0, oldestSeconds: 0 });
    await row(0, 'pending', 5);
    await row(15, 'failed', 120);
    await row(3, 'pending', 60);
    const { rows, oldestSeconds } = await store.backlog();
    assert.equal(rows, 3);
    assert.ok(oldestSeconds >= 120 && oldestSeconds < 130, String(oldestSeconds));
  });

  it('is shown by tenant, and summed up for people; nothing is shown while the database is away', async () => {
    await row(1, 'pending', 30);
    await row(2, 'pending', 10);
    const metrics = new Metrics();
    const store = new RelayStore(db, 'im_kafka_outbox');
    const two = new Map([
      ['default', () => store.backlog()],
      ['acme', () => Promise.resolve({ rows: 5, oldestSeconds: 1 })],
    ] as const);
    const sums = await watchBacklog(metrics, 'outbox', two)();
    assert.equal(sums['outbox_waiting'], 7);
    assert.ok((sums['outbox_oldest_seconds'] ?? 0) >= 30);
    const page = await metrics.text();
    assert.match(page, /^outbox_pending_rows\{tenant="default"\} 2$/m);
    assert.match(page, /^outbox_pending_rows\{tenant="acme"\} 5$/m);
    const away = new Metrics();
    assert.deepEqual(await watchBacklog(away, 'outbox', new Map([['', () => Promise.reject(new Error('away'))]]))(), {});
    assert.doesNotMatch(await away.text(), /^outbox_pending_rows\{/m);
  });
});
