import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import { TaskPool } from './task-pool.ts';

describe('TaskPool', () => {
  it('runs at most `size` at once, the others in the order they came (FRM-15)', async () => {
    const pool = new TaskPool({ size: 2, queue: 10 }, new Metrics());
    const started: number[] = [];
    const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<undefined>());
    for (const [index, gate] of gates.entries()) {
      pool.submit(async () => {
        started.push(index);
        await gate.promise;
      });
    }
    assert.deepEqual(started, [0, 1]);
    for (const gate of gates) gate.resolve(undefined);
    await pool.idle();
    assert.deepEqual(started, [0, 1, 2, 3]);
  });

  it('refuses as BUSY when the queue is full, and counts it (FRM-15, OBS-04)', async () => {
    const metrics = new Metrics();
    const pool = new TaskPool({ size: 1, queue: 1 }, metrics);
    const gate = Promise.withResolvers<undefined>();
    const task = (): Promise<void> => gate.promise;
    pool.submit(task);
    pool.submit(task);
    assert.throws(
      () => {
        pool.submit(task);
      },
      (error) => error instanceof Refusal && error.reason === 'BUSY',
    );
    const text = await metrics.text();
    assert.match(text, /^taskpool_rejected_total 1$/m);
    assert.match(text, /^taskpool_depth 1$/m);
    gate.resolve(undefined);
    await pool.idle();
    assert.match(await metrics.text(), /^taskpool_depth 0$/m);
    pool.submit(task);
    await pool.idle();
  });
});
