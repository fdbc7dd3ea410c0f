import assert from 'node:assert/strict';
import { redisWake } from '#shared/platform/events/wake.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { appendNotice, noticeWakeKey } from '#shared/tenant/notice/append-notice.ts';
import type { Notice } from '#shared/tenant/notice/deliver-notice.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { eventually } from '#shared/testing/wait.ts';
import { noticeWorker } from './notice-worker.ts';
import type { NoticeWorkerSettings } from './notice-worker.ts';

describe('notice worker', function () {
  this.timeout(30_000);
  let tenant: FreshDatabase;
  let control: FreshDatabase;
  let redis: FreshRedis;
  let db: Database;
  const parts: Part[] = [];

  before(async () => {
    [tenant, control, redis] = await Promise.all([freshDatabase('tenant'), freshDatabase('control'), freshRedis()]);
    db = tenant.open();
  });
  afterEach(async () => {
    for (const part of parts.splice(0)) await part.stop();
    await db.change('DELETE FROM im_business_events_outbox');
  });
  after(() => Promise.all([tenant.drop(), control.drop(), redis.close()]));

  async function append(...entries: readonly (readonly [key: string, name: string])[]): Promise<void> {
    const wake = (): void => redisWake(redis.redis)(noticeWakeKey(redis.code, db.name));
    for (const [orderKey, name] of entries) {
      await db.transaction((tx) =>
        appendNotice({ wake }, tx, { kind: 'EVENT', orderKey, userId: 7n, payload: { name }, traceId: 'req_1' }),
      );
    }
  }

  async function work(deliver: (name: string) => Promise<void>, settings: Partial<NoticeWorkerSettings> = {}, useRedis = false) {
    const worker = noticeWorker(
      {
        db,
        log: silentLog,
        deliver: ({ payload }: Notice) => deliver((JSON.parse(payload) as { name: string }).name),
        ...(useRedis ? { redis: redis.login } : {}),
      },
      {
        leaseDatabase: control.name,
        owner: 'test',
        batch: 50,
        pollMs: 20,
        leaseTtlMs: 900,
        retryMs: [100],
        keyBase: redis.code,
        ...settings,
      },
    );
    parts.push(worker);
    await worker.start();
  }
  const statuses = async (): Promise<readonly string[]> => {
    const rows = await db.select<{ status: string }>('SELECT status FROM im_business_events_outbox ORDER BY id');
    return rows.map(({ status }) => status);
  };
  const allDone = async (count: number): Promise<boolean> => (await statuses()).filter((status) => status === 'done').length === count;

  it('hands over in the order of each key and finishes the row afterwards (OBX-14)', async () => {
    const taken: string[] = [];
    const during: string[] = [];
    await append(['a', 'a1'], ['b', 'b1'], ['a', 'a2']);
    await work(async (name) => {
      if (name === 'a1') during.push(...(await statuses()));
      taken.push(name);
    });
    await eventually(() => allDone(3), { what: 'three notices' });
    assert.deepEqual(
      taken.filter((name) => name.startsWith('a')),
      ['a1', 'a2'],
    );
    assert.deepEqual(during, ['pending', 'pending', 'pending']);
  });

  it('is woken by the commit: works without the poll', async () => {
    const taken: string[] = [];
    await work((name) => Promise.resolve(void taken.push(name)), { pollMs: Number.POSITIVE_INFINITY, leaseTtlMs: 60_000 }, true);
    await append(['a', 'first']);
    await eventually(() => taken.length === 1, { what: 'the first notice' });
    await append(['a', 'second']);
    await eventually(() => taken.length === 2, { what: 'the second notice' });
  });

  it('lets a notice that fails hold back its own key and nobody else', async () => {
    const taken: string[] = [];
    let failures = 2;
    await append(['a', 'a1'], ['b', 'b1'], ['a', 'a2'], ['b', 'b2']);
    await work((name) => {
      if (name === 'a1' && failures-- > 0) return Promise.reject(new Error('not yet'));
      return Promise.resolve(void taken.push(name));
    });
    await eventually(() => allDone(4), { what: 'four notices' });
    assert.deepEqual(taken, ['b1', 'b2', 'a1', 'a2']);
  });

  it('waits without counting while Redis is away', async () => {
    const taken: string[] = [];
    let isAway = true;
    const tries: string[] = [];
    await append(['a', 'a1'], ['a', 'a2']);
    await work((name) => {
      tries.push(name);
      return isAway ? Promise.reject(new Error('Connection is closed.')) : Promise.resolve(void taken.push(name));
    });
    await eventually(() => tries.length >= 2, { what: 'two tries' });
    const rows = await db.select<{ retry_count: number }>('SELECT retry_count FROM im_business_events_outbox');
    assert.ok(rows.every(({ retry_count: count }) => count === 0));
    isAway = false;
    await eventually(() => allDone(2), { what: 'both notices' });
    assert.deepEqual(taken, ['a1', 'a2']);
  });

  it('passes by what fails for ever, visibly, and frees its key', async () => {
    const taken: string[] = [];
    await append(['a', 'poison'], ['a', 'a2']);
    await work((name) => (name === 'poison' ? Promise.reject(new Error('broken')) : Promise.resolve(void taken.push(name))), {
      retryMs: [1],
    });
    await eventually(() => taken.includes('a2'), { what: 'the next notice', deadlineMs: 20_000 });
    assert.deepEqual((await statuses())[0], 'dead');
  });
});
