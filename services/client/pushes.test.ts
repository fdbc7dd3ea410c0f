import assert from 'node:assert/strict';
import { Pushes } from './pushes.ts';
import type { Push } from './pushes.ts';

function push(sequenceId: number): Push {
  return { command: 6, sequenceId, data: {}, atMs: 0, frame: { command: 6, requestId: 0n, sequenceId, body: Buffer.alloc(0) } };
}

const numbered = (wanted: number) => (candidate: Push) => candidate.sequenceId === wanted;

describe('Pushes', () => {
  it('gives each push to one taker and keeps what nobody wants yet', async () => {
    const pushes = new Pushes();
    const second = pushes.next('second', numbered(2));
    pushes.add(push(1));
    pushes.add(push(2));
    assert.equal((await second).sequenceId, 2);
    assert.deepEqual(
      pushes.drain().map(({ sequenceId }) => sequenceId),
      [1],
    );
  });

  it('loses none of two that come in one read', async () => {
    const pushes = new Pushes();
    const first = pushes.next('any', () => true);
    pushes.add(push(1));
    pushes.add(push(2));
    assert.equal((await first).sequenceId, 1);
    assert.deepEqual(
      pushes.drain().map(({ sequenceId }) => sequenceId),
      [2],
    );
  });

  it('says what did not come', async () => {
    await assert.rejects(new Pushes().next('the EVENT', numbered(1), 1), /the EVENT did not come within 1 ms/);
  });

  it('ends iteration and waits when the connection ends, after what is kept', async () => {
    const pushes = new Pushes();
    pushes.add(push(1));
    const waiting = pushes.next('never', numbered(9));
    pushes.end(new Error('gone'));
    await assert.rejects(waiting, /gone/);
    const seen: number[] = [];
    for await (const { sequenceId } of pushes) seen.push(sequenceId);
    assert.deepEqual(seen, [1]);
  });
});
