import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildEnvelope } from '#shared/contract/envelope.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshTopics } from '#shared/testing/kafka.ts';
import type { FreshTopics } from '#shared/testing/kafka.ts';
import { startOwnKafka } from '#shared/testing/own-servers.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { openKafka } from '../kafka/client.ts';
import { SendError } from '../kafka/errors.ts';
import { KafkaProducer } from '../kafka/producer.ts';
import type { OutRecord } from '../kafka/producer.ts';
import { silentLog } from '../log/log.ts';
import type { Part } from '../lifecycle/lifecycle.ts';
import type { Database } from '../mysql/database.ts';
import { appendOutbox, openOutbox, shardOf } from './outbox.ts';
import { outboxRelay } from './outbox-relay.ts';
import type { OutboxRelaySettings } from './outbox-relay.ts';
import { noWake, redisWake } from './wake.ts';
import type { Wake } from './wake.ts';

const SIGNER = { service: 'writer', key: Buffer.from('k') };
type Send = (records: readonly OutRecord[]) => Promise<void>;

describe('outbox relay', function () {
  this.timeout(150_000); // A broker that starts again takes its time on a busy machine.
  let tenant: FreshDatabase;
  let control: FreshDatabase;
  let topics: FreshTopics;
  let redis: FreshRedis;
  let db: Database;
  const parts: Part[] = [];

  before(async () => {
    [tenant, control, topics, redis] = await Promise.all([
      freshDatabase('tenant'),
      freshDatabase('control'),
      freshTopics(['events'], 4),
      freshRedis(),
    ]);
    db = tenant.open();
  });
  afterEach(async () => {
    for (const part of parts.splice(0)) await part.stop();
    await db.change('DELETE FROM im_kafka_outbox');
    await control.open(1).change('DELETE FROM t_leases');
  });
  after(async () => {
    await Promise.all([tenant.drop(), control.drop(), topics.remove(), redis.close()]);
  });

  async function append(entries: readonly (readonly [key: string, id: string])[], wake: Wake = noWake, topic = topics.topic('events')) {
    const outbox = openOutbox('im_kafka_outbox', wake, redis.code);
    for (const [key, id] of entries) {
      const event = { source_service: 'im-server', target_service: 'im-server', event_type: 'test', biz_type: 'test', biz_id: key };
      const envelope = buildEnvelope({ ...event, event_id: id, tenant_code: 'default', actor: { type: 'system', id: 't' }, payload: {} });
      await db.transaction((tx) => appendOutbox(tx, outbox, { topic, orderKey: key, envelope }));
    }
  }

  async function relayWith(send: Send, settings: Partial<OutboxRelaySettings> = {}, useRedis = false): Promise<Part> {
    const relay = outboxRelay(
      { db, log: silentLog, producer: { send }, ...(useRedis ? { redis: redis.login } : {}) },
      {
        table: 'im_kafka_outbox',
        leaseDatabase: control.name,
        owner: 'test',
        batch: 100,
        pollMs: 20,
        retryBackoffMs: [100],
        keyPrefix: redis.code,
        ...settings,
      },
    );
    parts.push(relay);
    await relay.start();
    return relay;
  }

  async function realProducer(brokers = topics.brokers): Promise<KafkaProducer> {
    const producer = new KafkaProducer(openKafka({ brokers, clientId: 'test' }), SIGNER);
    parts.push(producer);
    await producer.start();
    return producer;
  }

  const statuses = async (): Promise<Record<string, string>> => {
    const rows = await db.select<{ event_id: Buffer; status: string }>('SELECT event_id, status FROM im_kafka_outbox ORDER BY id');
    return Object.fromEntries(rows.map(({ event_id, status }) => [event_id.toString(), status]));
  };
  const allSent = async (count: number): Promise<boolean> =>
    Object.values(await statuses()).filter((status) => status === 'sent').length === count;
  const eventIds = (records: readonly OutRecord[]): string[] =>
    records.map(({ value }) => (JSON.parse(value.toString()) as { event_id: string }).event_id);

  /** A send that keeps what it was given and refuses what `fault` names. */
  function fakeSend(fault: (id: string) => SendError | undefined): { send: Send; taken: string[] } {
    const taken: string[] = [];
    const send: Send = (records) => {
      const ids = eventIds(records);
      const error = ids.map((id) => fault(id)).find((found) => found !== undefined);
      if (error !== undefined) return Promise.reject(error);
      taken.push(...ids);
      return Promise.resolve();
    };
    return { send, taken };
  }

  /** Event ids as they lie in Kafka, per key. */
  async function readAll(count: number, { topic = topics.topic('events'), kafka = topics.kafka } = {}): Promise<Map<string, string[]>> {
    const byKey = new Map<string, string[]>();
    let read = 0;
    const consumer = kafka.consumer({ groupId: `${redis.code}.${Math.random().toString(36)}` });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await consumer.run({
      eachMessage: ({ message }) => {
        const key = message.key?.toString() ?? '';
        const { event_id: id } = JSON.parse(message.value?.toString() ?? '{}') as { event_id: string };
        byKey.set(key, [...(byKey.get(key) ?? []), id]);
        read += 1;
        if (read >= count) resolve(undefined);
        return Promise.resolve();
      },
    });
    await within(promise, { what: `${count.toString()} records`, deadlineMs: 20_000 });
    await consumer.disconnect();
    return byKey;
  }

  it('sends what was committed, in order, and marks it (OBX-09, OBX-11)', async () => {
    await append([
      ['a', 'order-a1'],
      ['b', 'order-b1'],
      ['a', 'order-a2'],
    ]);
    const producer = await realProducer();
    await relayWith((records) => producer.send(records));
    await eventually(() => allSent(3), { what: 'three sent rows' });
    const byKey = await readAll(3);
    assert.deepEqual(
      byKey.get('a')?.filter((id) => id.startsWith('order')),
      ['order-a1', 'order-a2'],
    );
    const [row] = await db.select<{ sent_at: Date | null }>(`SELECT sent_at FROM im_kafka_outbox WHERE event_id = 'order-a1'`);
    assert.ok(row?.sent_at instanceof Date);
  });

  it('is woken by the commit: works without the poll', async () => {
    const { send, taken } = fakeSend(() => undefined);
    await relayWith(send, { pollMs: Number.POSITIVE_INFINITY, leaseTtlMs: 60_000 }, true);
    const wake = redisWake(redis.redis);
    await append([['a', 'first']], wake);
    await eventually(() => taken.length === 1, { what: 'the first row' });
    const startedMs = performance.now();
    await append([['a', 'second']], wake);
    await eventually(() => taken.length === 2, { what: 'the second row' });
    assert.ok(performance.now() - startedMs < 1_000);
    assert.ok((await redis.redis.llen(`${redis.code}wake:outbox:${db.name}`)) <= 1);
  });

  it('is woken although another relay stands by: who has nothing to do takes no wake-up', async () => {
    const { send, taken } = fakeSend(() => undefined);
    const settings = { pollMs: Number.POSITIVE_INFINITY, leaseTtlMs: 60_000 };
    await relayWith(send, settings, true);
    const wake = redisWake(redis.redis);
    await append([['a', 'first']], wake);
    await eventually(() => taken.length === 1, { what: 'the first row' });
    await relayWith(send, settings, true);
    const ids = Array.from({ length: 6 }, (_, index) => `next-${index.toString()}`);
    for (const [index, id] of ids.entries()) {
      await append([['a', id]], wake);
      await eventually(() => taken.length === index + 2, { what: `row ${id}`, deadlineMs: 3_000 });
    }
  });

  it('works without Redis: the poll finds the row', async () => {
    const { send, taken } = fakeSend(() => undefined);
    await relayWith(send);
    await append([['a', 'polled']], redisWake(redis.redis));
    await eventually(() => taken.includes('polled'), { what: 'the row' });
  });

  it('lets a refused row hold back its own key and nobody else', async () => {
    let refusals = 4; // The batch, the key, the row; and once more when it is due.
    const { send, taken } = fakeSend((id) => (id === 'a1' && refusals-- > 0 ? new SendError('temporary', 'not now') : undefined));
    await append([
      ['a', 'a1'],
      ['b', 'b1'],
      ['a', 'a2'],
      ['c', 'c1'],
      ['b', 'b2'],
    ]);
    await relayWith(send, { retryBackoffMs: [300] });
    await eventually(() => taken.includes('c1') && taken.includes('b2'), { what: 'the other keys' });
    await eventually(async () => (await statuses())['a1'] === 'failed', { what: 'the failed row' });
    assert.equal((await statuses())['a2'], 'pending');
    await append([['a', 'a3']]);
    await eventually(() => allSent(6), { what: 'all rows' });
    assert.deepEqual(
      taken.filter((id) => id.startsWith('a')),
      ['a1', 'a2', 'a3'],
    );
  });

  it('notes when a refused row is tried again, by the configured waits (OBX-12, X-20)', async () => {
    const { send } = fakeSend(() => new SendError('temporary', 'topic is missing'));
    await append([['a', 'a1']]);
    await relayWith(send, { retryBackoffMs: [600_000] });
    const row = await eventually(
      async () => {
        const [found] = await db.select<{ retry_count: number; last_error: string; wait: string }>(
          `SELECT retry_count, last_error, TIMESTAMPDIFF(SECOND, NOW(3), next_retry_at) AS wait FROM im_kafka_outbox WHERE status = 'failed'`,
        );
        return found;
      },
      { what: 'the failed row' },
    );
    assert.equal(row.retry_count, 1);
    assert.equal(row.last_error, 'topic is missing');
    assert.ok(Number(row.wait) > 590 && Number(row.wait) <= 660, row.wait);
  });

  it('gives up what no broker will ever take and frees the key', async () => {
    const { send, taken } = fakeSend((id) => (id === 'a1' ? new SendError('permanent', 'too large') : undefined));
    await append([
      ['a', 'a1'],
      ['a', 'a2'],
    ]);
    await relayWith(send);
    await eventually(() => taken.includes('a2'), { what: 'the next row of the key' });
    assert.equal((await statuses())['a1'], 'dead');
  });

  it('is done by one relay at a time', async () => {
    const { send, taken } = fakeSend(() => undefined);
    await Promise.all([relayWith(send, { batch: 7 }), relayWith(send, { batch: 7 }), relayWith(send, { batch: 7 })]);
    await append(Array.from({ length: 60 }, (_, index) => [`k${(index % 5).toString()}`, `x${index.toString()}`] as const));
    await eventually(() => allSent(60), { what: 'all rows' });
    assert.equal(taken.length, 60);
  });

  it('marks nothing when its lease was lost during the send', async () => {
    const taken: string[] = [];
    const thief = control.open(1);
    const send: Send = async (records) => {
      taken.push(...eventIds(records));
      if (taken.length > 1) return;
      await thief.change('UPDATE t_leases SET token = RANDOM_BYTES(16), expires_at = NOW(3) + INTERVAL 300000 MICROSECOND');
    };
    await append([['a', 'a1']]);
    await relayWith(send, { leaseTtlMs: 300 });
    await eventually(() => taken.length === 1, { what: 'the first send' });
    assert.equal((await statuses())['a1'], 'pending');
    await eventually(() => allSent(1), { what: 'the second send' });
    assert.deepEqual(taken, ['a1', 'a1']);
  });

  it('loses nothing and keeps first arrivals in order when it is killed between send and mark', async () => {
    const before = await freshTopics(['killed'], 2);
    const topic = before.topic('killed');
    await append(
      Array.from({ length: 20 }, (_, index) => [`k${(index % 3).toString()}`, `x${index.toString().padStart(2, '0')}`] as const),
      noWake,
      topic,
    );
    const fixture = new URL('./relay-killed.fixture.ts', import.meta.url).pathname;
    const args = { mysql: tenant.login, database: db.name, leaseDatabase: control.name, brokers: topics.brokers, batch: 8 };
    const child = spawn(process.execPath, [fixture, JSON.stringify(args)], { stdio: 'inherit' });
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
    assert.ok(await allSent(0));
    const producer = await realProducer();
    await relayWith((records) => producer.send(records), { leaseTtlMs: 1_000 });
    await eventually(() => allSent(20), { what: 'all rows' });
    const byKey = await readAll(28, { topic });
    for (const ids of byKey.values()) {
      const first = [...new Set(ids)];
      assert.deepEqual(first, [...first].sort());
      assert.ok(ids.length > first.length);
    }
    assert.equal([...byKey.values()].flatMap((ids) => [...new Set(ids)]).length, 20);
    await before.remove();
  });

  it('keeps the order of every key over a broker that was killed and came back', async () => {
    const kafka = await startOwnKafka();
    try {
      const own = await freshTopics(['events'], 2, kafka.brokers);
      const topic = own.topic('events');
      const producer = await realProducer(kafka.brokers);
      await relayWith((records) => producer.send(records), { batch: 5 });
      const rows = (from: number): (readonly [string, string])[] =>
        Array.from({ length: 12 }, (_, index) => [`k${(index % 3).toString()}`, `x${(from + index).toString()}`] as const);
      await append(rows(100), noWake, topic);
      await eventually(() => allSent(12), { what: 'the first rows' });
      await kafka.kill();
      await append(rows(200), noWake, topic);
      await eventually(async () => Object.values(await statuses()).includes('failed'), { what: 'a failed row', deadlineMs: 60_000 });
      await append(rows(300), noWake, topic);
      await kafka.restart();
      await eventually(() => allSent(36), { what: 'all rows', deadlineMs: 60_000 });
      const byKey = await readAll(36, { topic, kafka: own.kafka });
      for (const ids of byKey.values()) {
        const first = [...new Set(ids)];
        assert.equal(first.length, 12);
        assert.deepEqual(first, [...first].sort());
      }
    } finally {
      for (const part of parts.splice(0)) await part.stop();
      await kafka.stop();
    }
  });

  it('refuses an event that no broker would take before it is committed', async () => {
    const outbox = openOutbox('im_kafka_outbox', noWake);
    const actor = { type: 'system', id: 't' };
    const event = { tenant_code: 'd', source_service: 'a', target_service: 'b', event_type: 't', biz_type: 't', biz_id: '1', actor };
    const envelope = buildEnvelope({ ...event, payload: { text: 'x'.repeat(900_000) } });
    await assert.rejects(
      db.transaction((tx) => appendOutbox(tx, outbox, { topic: 'x', orderKey: 'a', envelope })),
      /900000 bytes/,
    );
    assert.deepEqual(await statuses(), {});
    assert.ok(shardOf('grp1') < 16 && shardOf('grp1') === shardOf('grp1'));
  });
});
