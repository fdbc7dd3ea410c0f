import assert from 'node:assert/strict';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { systemClock } from '../clock/clock.ts';
import { silentLog } from '../log/log.ts';
import { WorkerLease } from './worker-lease.ts';

describe('WorkerLease', () => {
  let control: FreshDatabase;
  const leases: WorkerLease[] = [];
  before(async () => {
    control = await freshDatabase('control');
  });
  afterEach(async () => {
    for (const lease of leases.splice(0)) await lease.stop();
  });
  after(() => control.drop());

  async function lease(): Promise<WorkerLease> {
    const range = { first: 5, last: 6, preferred: 6 };
    const held = new WorkerLease({ control: control.open(2), clock: systemClock, log: silentLog, owner: 'test', range });
    await held.start();
    leases.push(held);
    return held;
  }

  async function isHeld({ proof }: WorkerLease, database = control): Promise<boolean> {
    return (await database.open(1).select(proof.sql, proof.params)).length === 1;
  }

  it('gives no two processes the same worker id, and none where all are taken (MSG-05)', async () => {
    const [first, second] = [await lease(), await lease()];
    assert.deepEqual([first.workerId, second.workerId], [6, 5]);
    await assert.rejects(lease(), /all worker ids 5-6 are leased/);
    assert.deepEqual([await isHeld(first), await isHeld(second)], [true, true]);
  });

  it('gives no two processes the same worker id when they start at once, the first of all', async () => {
    const fresh = await freshDatabase('control');
    const range = { first: 0, last: 767, preferred: 1 };
    const deps = { clock: systemClock, log: silentLog, owner: 'test', range };
    const started = Array.from({ length: 6 }, () => new WorkerLease({ ...deps, control: fresh.open(1) }));
    await Promise.all(started.map((each) => each.start()));
    assert.equal(new Set(started.map(({ workerId }) => workerId)).size, 6);
    for (const each of started) assert.ok(await isHeld(each, fresh));
    for (const each of started) await each.stop();
    await fresh.drop();
  });

  it('takes an id over that was given back, and starts above every id that was issued under it (MSG-06)', async () => {
    const first = await lease();
    const last = first.ids.next();
    await leases.pop()?.stop();
    const second = await lease();
    assert.equal(second.workerId, 6);
    assert.ok(second.ids.next() > last);
  });
});
