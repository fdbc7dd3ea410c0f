import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { eventually, nextEvent, within } from './wait.ts';

describe('waiting in tests', () => {
  it('returns what the check found, also after failures', async () => {
    const answers = [() => undefined, () => false as const, () => assert.fail('not yet'), () => 'found'];
    assert.equal(await eventually(() => answers.shift()?.(), { what: 'it' }), 'found');
  });

  it('gives up at the deadline, with what went wrong last', async () => {
    const failing = eventually(() => assert.fail('still not'), { what: 'it', deadlineMs: 1 });
    await assert.rejects(
      failing,
      (error: Error) => /gave up waiting for it/.test(error.message) && String(error.cause).includes('still not'),
    );
  });

  it('hands over an event that comes in time and takes its listener off', async () => {
    const emitter = new EventEmitter();
    const next = nextEvent(emitter, 'delivered');
    emitter.emit('delivered', 7);
    assert.deepEqual(await next, [7]);
    assert.equal(emitter.listenerCount('delivered'), 0);
  });

  it('rejects what does not come', async () => {
    await assert.rejects(within(new Promise(() => undefined), { what: 'a reply', deadlineMs: 1 }), /gave up waiting for a reply/);
  });
});
