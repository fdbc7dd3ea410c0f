import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import { TokenBuckets } from './token-buckets.ts';

describe('TokenBuckets', () => {
  let now = 0;
  const buckets = (size: number, periodMs: number, maxKeys?: number): TokenBuckets =>
    new TokenBuckets({ size, periodMs, ...(maxKeys === undefined ? {} : { maxKeys }) }, () => now);
  beforeEach(() => (now = 5_000));

  it('lets a burst of the size through, then one for each part of the period (LIM-01)', () => {
    const limit = buckets(20, 1_000);
    for (let n = 0; n < 20; n += 1) assert.equal(limit.take('a'), 0, `take ${n}`);
    assert.equal(limit.take('a'), 50);
    now += 49;
    assert.equal(limit.take('a'), 1);
    now += 1;
    assert.equal(limit.take('a'), 0);
    assert.equal(limit.take('a'), 50);
  });

  it('never lets more through in a second than the burst and the rate, however often it is asked', () => {
    const limit = buckets(5, 1_000);
    let through = 0;
    for (const end = now + 3_000; now < end; now += 7) if (limit.take('a') === 0) through += 1;
    assert.ok(through >= 19 && through <= 20, String(through));
  });

  it('tells a waiting time after which it lets through, also where tokens are fractions of a millisecond', () => {
    for (const size of [3, 7, 60, 100_000]) {
      const limit = buckets(size, 60_000);
      for (let n = 0; n < size; n += 1) assert.equal(limit.take('a'), 0, `${n} of ${size}`);
      const waitMs = limit.take('a');
      assert.ok(waitMs > 0 && Number.isInteger(waitMs));
      now += waitMs;
      assert.equal(limit.take('a'), 0);
    }
  });

  it('is full again after a period, and keeps keys apart', () => {
    const limit = buckets(2, 1_000);
    assert.deepEqual([limit.take('a'), limit.take('a'), limit.take('a'), limit.take('b')], [0, 0, 500, 0]);
    now += 1_000;
    assert.deepEqual([limit.take('a'), limit.take('a'), limit.take('a')], [0, 0, 500]);
  });

  it('says RATE_LIMITED with retry_after_ms', () => {
    const limit = buckets(1, 2_000);
    limit.assert('a');
    assert.throws(
      () => limit.assert('a'),
      (error) => error instanceof Refusal && error.code === 42901 && error.details['retry_after_ms'] === 2_000 && error.retriable,
    );
  });

  it('keeps no more keys than allowed, forgets the quiet ones first, and full ones by itself', () => {
    const limit = buckets(1, 1_000, 100);
    limit.take('flooding');
    for (let n = 0; n < 1_000; n += 1) {
      limit.take(`k${n}`);
      assert.ok(limit.take('flooding') > 0, 'who goes on asking is not forgotten');
    }
    assert.equal(limit.keys, 100);
    assert.ok(limit.take('k999') > 0, 'the newest is still known');
    assert.equal(limit.take('k0'), 0);
    now += 10_000;
    for (let n = 0; n < 100; n += 1) limit.take('one');
    assert.equal(limit.keys, 1);
  });
});
