import assert from 'node:assert/strict';
import kafkajs from 'kafkajs';
import { classifySendError } from './errors.ts';
import { runLanes } from './lanes.ts';
import { backoff } from './partition-retries.ts';
import { quietRequestQueue } from './quiet-request-queue.ts';
import { sign, signatureHeaders, verify } from './signature.ts';
import type { Trust } from './signature.ts';
import { traceparent } from './traceparent.ts';
import { Watermark } from './watermark.ts';

describe('record signature', () => {
  const key = Buffer.from('k'.repeat(32));
  const value = Buffer.from('{"event_id":"evt_1"}');
  const trust: Trust = {
    keys: new Map([
      ['hotgo-admin-api', key],
      ['im-core', Buffer.from('other')],
    ]),
    producers: new Map([['im.admin.command', ['hotgo-admin-api']]]),
  };
  const headers = (fields: Record<string, string>): ReadonlyMap<string, string> => new Map(Object.entries(fields));
  const signed = signatureHeaders({ service: 'hotgo-admin-api', key }, value);

  it('is accepted from a producer of the topic (X-16)', () => {
    assert.equal(verify(trust, { topic: 'im.admin.command', value, headers: headers(signed) }), undefined);
  });

  it('is refused when a header is missing, the value differs, or the producer may not write there (KFK-21)', () => {
    const topic = 'im.admin.command';
    assert.equal(verify(trust, { topic, value, headers: headers({}) }), 'SIGNATURE_MISSING');
    assert.equal(verify(trust, { topic, value: Buffer.from('{"event_id":"evt_2"}'), headers: headers(signed) }), 'SIGNATURE_INVALID');
    assert.equal(verify(trust, { topic, value, headers: headers({ ...signed, 'x-signature': 'short' }) }), 'SIGNATURE_INVALID');
    assert.equal(verify(trust, { topic: 'im.audit.event', value, headers: headers(signed) }), 'PRODUCER_NOT_ALLOWED');
    const asCore = { 'x-service': 'im-core', 'x-signature': sign(Buffer.from('other'), value) };
    assert.equal(verify(trust, { topic, value, headers: headers(asCore) }), 'PRODUCER_NOT_ALLOWED');
    assert.equal(verify(trust, { topic, value, headers: headers({ ...signed, 'x-service': 'nobody' }) }), 'PRODUCER_NOT_ALLOWED');
  });
});

describe('watermark', () => {
  it('never passes an unfinished record, whatever the order of finishing', () => {
    const mark = new Watermark(['10', '11', '13', '14']);
    assert.equal(mark.finish('11'), undefined);
    assert.equal(mark.finish('14'), undefined);
    assert.equal(mark.lowestUnfinished, '10');
    assert.equal(mark.finish('10'), '11');
    assert.equal(mark.lowestUnfinished, '13');
    assert.equal(mark.finish('13'), '14');
    assert.equal(mark.lowestUnfinished, undefined);
  });
});

describe('lanes', () => {
  it('keep the order of a key, stop it at its first failure and let the others go on', async () => {
    const seen: string[] = [];
    const items = ['a1', 'b1', 'a2', 'c1', 'b2', 'a3'];
    await runLanes(
      items,
      (item) => item.slice(0, 1),
      2,
      (item) => {
        seen.push(item);
        return Promise.resolve(item !== 'a2');
      },
    );
    assert.deepEqual(
      seen.filter((item) => item.startsWith('a')),
      ['a1', 'a2'],
    );
    assert.deepEqual([...seen].sort(), ['a1', 'a2', 'b1', 'b2', 'c1']);
  });
});

describe('send errors', () => {
  const protocol = (type: string): Error => Object.assign(new Error(type), { type });

  it('are the fault of the cluster when any cause is a connection that failed', () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    assert.equal(classifySendError(Object.assign(new kafkajs.KafkaJSNonRetriableError('gave up'), { cause: refused })), 'unreachable');
    assert.equal(classifySendError(new Error('outer', { cause: new Error('inner', { cause: refused }) })), 'unreachable');
    assert.equal(classifySendError(protocol('NOT_ENOUGH_REPLICAS')), 'unreachable');
    assert.equal(classifySendError(new Error('Broker not connected')), 'unreachable');
    // Two relays share a connection: the second one waits for the first one's attempt to connect, and gives up waiting.
    assert.equal(
      classifySendError(Object.assign(new Error('Timeout while acquiring lock'), { name: 'KafkaJSLockTimeout' })),
      'unreachable',
    );
  });

  it('are the fault of the record when no broker would take it, and else worth another try', () => {
    assert.equal(classifySendError(new Error('outer', { cause: protocol('MESSAGE_TOO_LARGE') })), 'permanent');
    assert.equal(classifySendError(protocol('UNKNOWN_TOPIC_OR_PARTITION')), 'temporary');
    assert.equal(classifySendError('text'), 'temporary');
    assert.equal(classifySendError(protocol('CORRUPT_MESSAGE')), 'temporary', 'it was damaged on the way, and the next copy may not be');
  });
});

describe('kafka client', () => {
  it('has no idle timer left to warn about', () => {
    assert.equal(quietRequestQueue(), true);
  });

  it('gives one trace id one trace (KFK-22)', () => {
    const one = traceparent('req_1');
    const two = traceparent('req_1');
    assert.match(one, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    assert.equal(one.slice(0, 35), two.slice(0, 35));
    assert.notEqual(one, two);
    assert.notEqual(traceparent('req_2').slice(0, 35), one.slice(0, 35));
  });

  it('repeats the last delay, never less than asked (X-20)', () => {
    for (const [attempt, least] of [
      [1, 100],
      [2, 200],
      [9, 200],
    ] as const) {
      const delayMs = backoff([100, 200], attempt);
      assert.ok(delayMs >= least && delayMs <= least * 1.1, delayMs.toString());
    }
  });
});
