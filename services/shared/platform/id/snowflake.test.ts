import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import { HandClock } from '../clock/clock.ts';
import { ID_EPOCH_MS, idTimeMs } from './id-generator.ts';
import { MAX_AHEAD_MS, Snowflake } from './snowflake.ts';

const START = ID_EPOCH_MS + 1_000_000;

function generator(clock: HandClock): Snowflake {
  const ids = new Snowflake(clock);
  ids.adopt(7, 0);
  ids.reserve(Number.MAX_SAFE_INTEGER);
  return ids;
}

describe('Snowflake', () => {
  it('issues 10,001 rising ids within one millisecond of the clock (MSG-01, U2)', () => {
    const ids = generator(new HandClock(START));
    let last = 0n;
    for (let n = 0; n < 10_001; n += 1) {
      const id = ids.next();
      assert.ok(id > last);
      last = id;
    }
    assert.equal(idTimeMs(last), 1_000_002); // 4,096 a millisecond: the third one is in use
  });

  it('never goes back when the clock does (MSG-06)', () => {
    const clock = new HandClock(START);
    const ids = generator(clock);
    const before = ids.next();
    clock.step(-MAX_AHEAD_MS + 1);
    assert.ok(ids.next() > before);
    clock.step(-5);
    assert.throws(
      () => ids.next(),
      (error: unknown) => error instanceof Refusal && error.reason === 'BUSY',
    );
    clock.step(MAX_AHEAD_MS);
    assert.ok(ids.next() > before);
  });

  it('issues above the head of the conversation, also when that is ahead of the clock', () => {
    const ids = generator(new HandClock(START));
    const head = (BigInt(1_000_500) << 22n) | (1023n << 12n) | 4095n;
    assert.ok(ids.next(head) > head);
    const sameTime = (BigInt(1_000_501) << 22n) | 1n;
    assert.ok(ids.next(sameTime) > sameTime);
  });

  it('starts above the reservation that the last holder of the worker id left', () => {
    const ids = new Snowflake(new HandClock(START));
    ids.adopt(7, 1_003_000);
    ids.reserve(1_006_000);
    assert.ok(idTimeMs(ids.next()) >= 1_003_001);
  });

  it('stops at the end of what is reserved, and asks for more', () => {
    const clock = new HandClock(START);
    const ids = new Snowflake(clock);
    ids.adopt(7, 0);
    ids.reserve(1_000_010);
    ids.next();
    clock.step(20);
    assert.throws(() => ids.next(), /reserved/);
    ids.reserve(ids.currentMs + 3_000);
    assert.ok(ids.next() > 0n);
  });
});
