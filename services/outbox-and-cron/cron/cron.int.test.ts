import assert from 'node:assert/strict';
import { HandClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { purgeSent } from './purge-sent.ts';
import { Cron } from './schedule.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 5, 10);

describe('purge of sent rows', () => {
  let tenant: FreshDatabase;
  let db: Database;

  before(async () => {
    tenant = await freshDatabase('tenant');
    db = tenant.open();
  });
  after(() => tenant.drop());

  it('deletes finished rows that are old, in batches, and nothing else', async () => {
    for (const [index, status] of ['sent', 'dead', 'sent', 'failed', 'sent', 'pending', 'sent', 'sent'].entries()) {
      const at = new Date(NOW - (10 - index) * DAY_MS);
      await db.change(
        `INSERT INTO im_kafka_outbox (shard, topic, order_key, event_id, envelope, trace_id, status, next_retry_at, created_at, sent_at)
         VALUES (0, 't', 'k', ?, '{}', 'r', ?, ?, ?, ?)`,
        [`e${index}`, status, at, at, status === 'sent' ? at : null],
      );
    }
    const purged = await purgeSent({ db, clock: new HandClock(NOW), keepMs: 3.5 * DAY_MS, batch: 2 });
    const left = await db.select<{ event_id: Buffer }>('SELECT event_id FROM im_kafka_outbox ORDER BY id');
    assert.deepEqual(
      left.map(({ event_id }) => event_id.toString()),
      ['e1', 'e3', 'e5', 'e7'],
    );
    assert.equal(purged, 4);
  });
});

describe('cron', () => {
  it('runs a job in one process at a time, and the next time after a failure', async () => {
    const control = await freshDatabase('control');
    const db = control.open();
    const crons = ['one', 'two'].map((owner) => new Cron({ jobs: [], control: db, owner, log: silentLog }));
    const gate = Promise.withResolvers<number>();
    let runs = 0;
    const job = {
      name: 'job',
      at: '* * * * *',
      run: (): Promise<number> => {
        runs += 1;
        return gate.promise;
      },
    };
    const first = crons[0]?.runNow(job);
    await eventually(() => runs === 1, { what: 'the first run' });
    await within(crons[1]?.runNow(job) ?? Promise.resolve(), { what: 'the process that was late' });
    gate.reject(new Error('it failed'));
    await first;
    assert.equal(runs, 1);
    await crons[1]?.runNow({ ...job, run: () => Promise.resolve((runs += 1)) });
    assert.equal(runs, 2);
    for (const cron of crons) await cron.stop();
    await control.drop();
  });
});
