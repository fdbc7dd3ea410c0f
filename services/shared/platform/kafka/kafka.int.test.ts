import assert from 'node:assert/strict';
import kafkajs from 'kafkajs';
import { freshTopics } from '#shared/testing/kafka.ts';
import type { FreshTopics } from '#shared/testing/kafka.ts';
import { startOwnKafka } from '#shared/testing/own-servers.ts';
import { testServers } from '#shared/testing/servers.ts';
import { eventually } from '#shared/testing/wait.ts';
import { silentLog } from '../log/log.ts';
import { Metrics } from '../metrics/metrics.ts';
import { openKafka } from './client.ts';
import { KafkaConsumer } from './consumer.ts';
import type { ConsumerSettings, InRecord } from './consumer.ts';
import { SendError } from './errors.ts';
import { KafkaProducer } from './producer.ts';
import type { Trust } from './signature.ts';
import { ensureTopics } from './topics.ts';
import { watchLag } from './watch-lag.ts';

const KEY = Buffer.from('s'.repeat(32));
const SIGNER = { service: 'writer', key: KEY };

function trustIn(topic: string): Trust {
  return { keys: new Map([['writer', KEY]]), producers: new Map([[topic, ['writer']]]) };
}

const record = (topic: string, key: string, value: string) => ({ topic, key, value: Buffer.from(value), traceId: 'req_1' });

describe('kafka', function () {
  this.timeout(150_000); // A broker that starts again takes its time on a busy machine.
  let topics: FreshTopics;
  let topic: string;

  beforeEach(async () => {
    topics = await freshTopics(['events'], 2);
    topic = topics.topic('events');
  });
  afterEach(() => topics.remove());

  const client = (brokers = topics.brokers) => openKafka({ brokers, clientId: 'test' });

  function consumer(handle: (record: InRecord) => Promise<void>, settings: Partial<ConsumerSettings> = {}, brokers = topics.brokers) {
    const isOutage = (error: unknown): boolean => error instanceof Error && error.message === 'database is away';
    const deps = { kafka: client(brokers), trust: trustIn(topic), log: silentLog, handle, isOutage };
    return new KafkaConsumer(deps, { groupId: `${topic}.group`, topics: [topic], retryBackoffMs: [50], ...settings });
  }

  async function send(...values: readonly (readonly [string, string])[]): Promise<void> {
    const producer = new KafkaProducer(client(), SIGNER);
    await producer.send(values.map(([key, value]) => record(topic, key, value)));
    await producer.stop();
  }

  it('carries signed records in the order of their key, with trace context (KFK-21, KFK-22)', async () => {
    const seen: InRecord[] = [];
    const reader = consumer((one) => Promise.resolve(void seen.push(one)));
    await reader.start();
    await send(['a', 'a1'], ['b', 'b1'], ['a', 'a2'], ['b', 'b2']);
    await eventually(() => seen.length === 4, { what: 'four records' });
    await reader.stop();
    const valuesOf = (key: string) => seen.filter((one) => one.key?.toString() === key).map((one) => one.value?.toString());
    assert.deepEqual(valuesOf('a'), ['a1', 'a2']);
    assert.deepEqual(valuesOf('b'), ['b1', 'b2']);
    assert.ok(seen.every(({ fault, headers }) => fault === undefined && headers.get('traceparent') !== undefined));
  });

  it('tells which records nobody may believe (X-16)', async () => {
    const faults: unknown[] = [];
    const reader = consumer((one) => Promise.resolve(void faults.push(one.fault)));
    await reader.start();
    const plain = topics.kafka.producer();
    await plain.connect();
    await plain.send({ topic, acks: -1, messages: [{ key: 'a', value: 'x', headers: { 'x-service': 'writer' } }] });
    await plain.send({ topic, acks: -1, messages: [{ key: 'a', value: 'x', headers: { 'x-service': 'writer', 'x-signature': 'ab' } }] });
    await plain.disconnect();
    await eventually(() => faults.length === 2, { what: 'two records' });
    await reader.stop();
    assert.deepEqual(faults, ['SIGNATURE_MISSING', 'SIGNATURE_INVALID']);
  });

  it('pauses a partition at a failure, tries again in place, and loses nothing, whatever is thrown (RTY-01)', async () => {
    const seen: string[] = [];
    const failures = [new TypeError('a bug'), new Error('away')];
    const reader = consumer((one) => {
      const value = one.value?.toString() ?? '';
      const failure = value === 'a2' ? failures.shift() : undefined;
      if (failure !== undefined) return Promise.reject(failure);
      seen.push(`${value}/${one.attempt.toString()}`);
      return Promise.resolve();
    });
    await reader.start();
    await send(['a', 'a1'], ['a', 'a2'], ['a', 'a3']);
    await eventually(() => seen.includes('a3/0'), { what: 'the last record' });
    assert.equal(reader.healthy(), true);
    await reader.stop();
    assert.deepEqual([...new Set(seen)], ['a1/0', 'a2/2', 'a3/0']);
  });

  it('says how many records it is behind, also those that it cannot finish', async () => {
    let isAway = true;
    const metrics = new Metrics();
    const reader = consumer(() => (isAway ? Promise.reject(new Error('database is away')) : Promise.resolve()));
    const shown = watchLag(metrics, reader);
    await send(['a', 'a1'], ['a', 'a2'], ['a', 'a3']);
    await reader.start();
    await eventually(() => reader.lag === 3, { what: 'three records behind', deadlineMs: 30_000 });
    assert.deepEqual(shown(), { consumer_lag: 3 });
    assert.match(await metrics.text(), /^kafka_consumer_lag\{consumer="[^"]+"\} 3$/m);
    isAway = false;
    await eventually(() => reader.lag === 0, { what: 'nothing behind', deadlineMs: 30_000 });
    await reader.stop();
  });

  it('goes on soon after an outage, however long that was, and counts no attempt for it (RTY-13)', async () => {
    const seen: string[] = [];
    let away = 6;
    const reader = consumer(
      (one) => {
        if (away > 0) return Promise.reject(new Error((away -= 1) >= 0 ? 'database is away' : ''));
        seen.push(`${one.value?.toString() ?? ''}/${one.attempt.toString()}`);
        return Promise.resolve();
      },
      { retryBackoffMs: [600_000] },
    );
    await reader.start();
    await send(['a', 'a1'], ['a', 'a2']);
    await eventually(() => seen.length === 2, { what: 'both records', deadlineMs: 30_000 });
    await reader.stop();
    assert.deepEqual(seen, ['a1/0', 'a2/0']);
  });

  it('commits no offset of a record that is unfinished', async () => {
    const first: string[] = [];
    const reader = consumer(
      (one) => {
        first.push(one.value?.toString() ?? '');
        return one.value?.toString() === 'a2' ? Promise.reject(new Error('away')) : Promise.resolve();
      },
      { retryBackoffMs: [600_000] },
    );
    await reader.start();
    await send(['a', 'a1'], ['a', 'a2'], ['a', 'a3']);
    await eventually(() => first.includes('a2'), { what: 'the failing record' });
    await reader.stop();
    const second: string[] = [];
    const next = consumer((one) => Promise.resolve(void second.push(one.value?.toString() ?? '')));
    await next.start();
    await eventually(() => second.length >= 2, { what: 'the rest' });
    await next.stop();
    assert.deepEqual(second, ['a2', 'a3']);
  });

  it('keeps its partitions while one record takes longer than the session, and hands over cleanly when a member joins', async () => {
    const seen: string[] = [];
    const gate = Promise.withResolvers<undefined>();
    const slow = async (one: InRecord): Promise<void> => {
      if (one.value?.toString() === 'a1') await gate.promise;
      seen.push(one.value?.toString() ?? '');
    };
    const [first, second] = [consumer(slow, { sessionTimeoutMs: 6_000 }), consumer(slow, { sessionTimeoutMs: 6_000 })];
    await first.start();
    await send(['a', 'a1'], ['a', 'a2'], ['b', 'b1'], ['c', 'c1'], ['d', 'd1']);
    const admin = topics.kafka.admin();
    await admin.connect();
    const group = async () => (await admin.describeGroups([`${topic}.group`])).groups[0];
    const member = await eventually(async () => (await group())?.members[0]?.memberId, { what: 'the member' });
    const startedMs = performance.now();
    await eventually(() => performance.now() - startedMs > 7_000, { what: 'the end of a session without heartbeats' });
    assert.deepEqual([(await group())?.state, (await group())?.members[0]?.memberId], ['Stable', member]);
    await second.start();
    await eventually(async () => (await group())?.state !== 'Stable', { what: 'the rebalance' });
    gate.resolve(undefined);
    await eventually(() => ['a1', 'a2', 'b1', 'c1', 'd1'].every((value) => seen.includes(value)), {
      what: 'every record',
      deadlineMs: 20_000,
    });
    await eventually(async () => (await group())?.members.length === 2, { what: 'both members', deadlineMs: 20_000 });
    await admin.disconnect();
    await Promise.all([first.stop(), second.stop()]);
    assert.ok(seen.indexOf('a1') < seen.indexOf('a2'));
  });

  it('takes retention for topics that exist and makes those that do not', async () => {
    const name = topics.topic('made');
    const deps = { brokers: testServers().kafka.brokers };
    assert.deepEqual(await ensureTopics(deps, [{ name, partitions: 3, retentionMs: 60_000 }]), [name]);
    assert.deepEqual(await ensureTopics(deps, [{ name, partitions: 3, retentionMs: 120_000 }]), []);
    const admin = topics.kafka.admin();
    await admin.connect();
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name }],
    });
    const { topics: described } = await admin.fetchTopicMetadata({ topics: [name] });
    await admin.deleteTopics({ topics: [name] });
    await admin.disconnect();
    const retention = resources[0]?.configEntries.find(({ configName }) => configName === 'retention.ms');
    assert.equal(retention?.configValue, '120000');
    assert.equal(described[0]?.partitions.length, 3);
  });

  it('sends again after a broker that hung while it was connected to, and never blames the records', async () => {
    const kafka = await startOwnKafka();
    try {
      const own = await freshTopics(['events'], 1, kafka.brokers);
      topic = own.topic('events');
      const producer = new KafkaProducer(openKafka({ brokers: kafka.brokers, clientId: 'test', requestTimeoutMs: 500 }), SIGNER);
      kafka.pause(); // It takes connections and answers nothing.
      for (let tries = 0; tries < 3; tries += 1) {
        const failure = await producer.send([record(topic, 'a', 'lost?')]).catch((error: unknown) => error);
        assert.ok(failure instanceof SendError && failure.fault === 'unreachable', String(failure));
      }
      kafka.resume();
      await eventually(() => producer.send([record(topic, 'a', 'a1')]).then(() => true), { what: 'a send', deadlineMs: 30_000 });
      await producer.stop();
    } finally {
      await kafka.stop();
    }
  });

  it('says that nothing is wrong with the records when the broker is away, and goes on when it is back', async () => {
    const kafka = await startOwnKafka();
    try {
      const own = await freshTopics(['events'], 1, kafka.brokers);
      topic = own.topic('events');
      await kafka.kill();
      const seen: string[] = [];
      const reader = consumer((one) => Promise.resolve(void seen.push(one.value?.toString() ?? '')), { silentMs: 1_000 }, kafka.brokers);
      const producer = new KafkaProducer(client(kafka.brokers), SIGNER);
      await Promise.all([reader.start(), producer.start()]);
      await assert.rejects(
        producer.send([record(topic, 'a', 'lost?')]),
        (error) => error instanceof SendError && error.fault === 'unreachable',
      );
      assert.equal(reader.healthy(), false);
      assert.equal(producer.isReachable, false);
      await kafka.restart();
      await eventually(() => producer.send([record(topic, 'a', 'a1')]).then(() => true), { what: 'a send', deadlineMs: 60_000 });
      await eventually(() => seen.includes('a1'), { what: 'the record', deadlineMs: 60_000 });
      assert.equal(reader.healthy(), true);
      await Promise.all([reader.stop(), producer.stop()]);
    } finally {
      await kafka.stop();
    }
  });
});
