import assert from 'node:assert/strict';
import { TimerWheel } from './timer-wheel.ts';

describe('TimerWheel', () => {
  it('runs a task once, never early, and at most one tick late', () => {
    const wheel = new TimerWheel(100, 8);
    const ran: string[] = [];
    wheel.after(250, () => ran.push('a'));
    wheel.after(2000, () => ran.push('several rounds'));
    wheel.advance(200);
    assert.deepEqual(ran, []);
    wheel.advance(100);
    assert.deepEqual(ran, ['a']);
    wheel.advance(1600);
    assert.deepEqual(ran, ['a']);
    wheel.advance(200);
    assert.deepEqual(ran, ['a', 'several rounds']);
  });

  it('does not run what was cancelled, also by a task of the same tick', () => {
    const wheel = new TimerWheel(100, 8);
    const ran: string[] = [];
    let cancelSecond = (): unknown => undefined;
    wheel.after(100, () => cancelSecond());
    cancelSecond = wheel.after(100, () => ran.push('second'));
    wheel.advance(500);
    assert.deepEqual(ran, []);
  });

  it('lets a task set the next one', () => {
    const wheel = new TimerWheel(100, 8);
    let runs = 0;
    const again = (): void => {
      runs += 1;
      wheel.after(100, again);
    };
    wheel.after(100, again);
    wheel.advance(1000);
    assert.equal(runs, 10);
  });
});
