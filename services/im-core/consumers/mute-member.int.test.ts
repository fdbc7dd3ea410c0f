import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { buildEnvelope, newId, parseCommandResult, parseEnvelope } from '#shared/contract/envelope.ts';
import type { CommandResult, Envelope, Payload } from '#shared/contract/envelope.ts';
import { appendOutbox, openOutbox } from '#shared/platform/events/outbox.ts';
import { outboxRelay } from '#shared/platform/events/outbox-relay.ts';
import { redisWake } from '#shared/platform/events/wake.ts';
import { openKafka } from '#shared/platform/kafka/client.ts';
import { KafkaConsumer } from '#shared/platform/kafka/consumer.ts';
import { KafkaProducer } from '#shared/platform/kafka/producer.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { createGroup } from '#shared/tenant/group/create-group.ts';
import { insertUser } from '#shared/tenant/user/user-store.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshTopics } from '#shared/testing/kafka.ts';
import type { FreshTopics } from '#shared/testing/kafka.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { eventually } from '#shared/testing/wait.ts';
import { commandConsumer } from './command-handler.ts';

const KEYS = new Map([
  ['hotgo-admin-api', Buffer.from('a'.repeat(32))],
  ['outbox-and-cron', Buffer.from('b'.repeat(32))],
]);
const ADMIN = { type: 'admin', id: 'admin_1', display_name: 'Ann' };
const [OWNER, MEMBER, STRANGER, SERVICE] = [101n, 102n, 103n, 1n];

describe('mute command', function () {
  this.timeout(90_000);
  let tenant: FreshDatabase;
  let control: FreshDatabase;
  let hotgo: FreshDatabase;
  let topics: FreshTopics;
  let redis: FreshRedis;
  let db: Database;
  let hotgoDb: Database;
  let group: bigint;
  let lastId = 1_000n;
  const parts: Part[] = [];
  const results: CommandResult[] = [];
  const audits: Envelope[] = [];
  const enqueued: bigint[] = [];

  const ids = { next: (above = 0n) => (lastId = (above > lastId ? above : lastId) + 1n) };

  before(async () => {
    [tenant, control, hotgo, topics, redis] = await Promise.all([
      freshDatabase('tenant'),
      freshDatabase('control'),
      freshDatabase('hotgo'),
      freshTopics(['im.admin.command', 'im.admin.command.result', 'im.audit.event'], 2),
      freshRedis(),
    ]);
    db = tenant.open();
    hotgoDb = hotgo.open();
    for (const [userId, name] of [
      [OWNER, 'owner'],
      [MEMBER, 'member'],
      [STRANGER, 'stranger'],
      [SERVICE, 'svc'],
    ] as const) {
      await insertUser(db, { userId, name, displayName: name, passwordHash: '' });
    }
    const answers = reader(['im.admin.command.result', 'im.audit.event'], (topic, value) => {
      const parsed = topic === 'im.audit.event' ? parseEnvelope(value) : parseCommandResult(value);
      if (parsed.kind !== 'ok') throw new Error(`not readable: ${parsed.detail}`);
      if ('command_id' in parsed.value) results.push(parsed.value);
      else audits.push(parsed.value);
    });
    parts.push(
      relay(hotgoDb, 'admin_outbox', hotgo.name, 'hotgo-admin-api'),
      relay(db, 'im_kafka_outbox', control.name, 'outbox-and-cron'),
      answers,
    );
    for (const part of [...parts]) await part.start();
  });
  beforeEach(async () => {
    group = await createGroup(
      { db, tenant: 'default', ids, enqueue: () => Promise.resolve() },
      { ownerId: OWNER, name: 'g', memberIds: [MEMBER] },
    );
    for (const list of [results, audits, enqueued]) list.length = 0;
  });
  after(async () => {
    for (const part of parts.reverse()) await part.stop();
    await Promise.all([tenant.drop(), control.drop(), hotgo.drop(), topics.remove(), redis.close()]);
  });

  function relay(of: Database, table: string, leaseDatabase: string, service: string): Part {
    const producer = new KafkaProducer(openKafka({ brokers: topics.brokers, clientId: service }), {
      service,
      key: KEYS.get(service) ?? Buffer.alloc(0),
    });
    parts.push(producer);
    return outboxRelay(
      { db: of, producer, log: silentLog, redis: redis.login },
      { table, leaseDatabase, owner: 'test', batch: 100, pollMs: 1_000, retryBackoffMs: [100], keyPrefix: redis.code },
    );
  }

  function reader(names: readonly string[], take: (topic: string, value: Buffer | null) => void): Part {
    const trust = { keys: KEYS, producers: new Map(names.map((name) => [topics.topic(name), ['outbox-and-cron']])) };
    const handle = (record: { topic: string; value: Buffer | null; fault: string | undefined }): Promise<void> => {
      assert.equal(record.fault, undefined);
      take(record.topic.slice(topics.prefix.length), record.value);
      return Promise.resolve();
    };
    const kafka = openKafka({ brokers: topics.brokers, clientId: 'reader' });
    return new KafkaConsumer(
      { kafka, trust, log: silentLog, handle, isOutage: () => false },
      { groupId: `${topics.prefix}reader`, topics: names.map((name) => topics.topic(name)), retryBackoffMs: [100] },
    );
  }

  function imCore(): Part {
    const wake = redisWake(redis.redis);
    return commandConsumer(
      {
        kafka: openKafka({ brokers: topics.brokers, clientId: 'im-core' }),
        keys: KEYS,
        databaseOf: (code) => (code === 'default' ? db : undefined),
        control: control.open(),
        groupDepsOf: (code) => ({
          tenant: code,
          ids,
          enqueue: (jobs) => void enqueued.push(...jobs.map(({ changeId }) => changeId)),
          wakeNotices: () => undefined,
        }),
        wake,
        log: silentLog,
      },
      { retryBackoffMs: [100], maxRetryCount: 2, prefix: { topic: topics.prefix, key: redis.code }, sessionTimeoutMs: 6_000 },
    );
  }

  function order(payload: Payload = {}, eventType = 'group.member.mute'): Envelope {
    const topic = `grp${group.toString()}`;
    return buildEnvelope({
      tenant_code: 'default',
      source_service: 'hotgo-admin',
      target_service: 'im-server',
      event_type: eventType,
      biz_type: 'group',
      biz_id: topic,
      actor: ADMIN,
      payload: {
        command_id: newId('cmd'),
        actor_user_id: 'usr1',
        topic,
        user_id: `usr${MEMBER.toString()}`,
        reason: '刷屏',
        expires_at: null,
        ...payload,
      },
    });
  }

  async function send(...envelopes: readonly Envelope[]): Promise<void> {
    const outbox = openOutbox('admin_outbox', redisWake(redis.redis), redis.code);
    for (const envelope of envelopes) {
      const orderKey = `${envelope.tenant_code}:${envelope.biz_id}`;
      await hotgoDb.transaction((tx) => appendOutbox(tx, outbox, { topic: topics.topic('im.admin.command'), orderKey, envelope }));
    }
  }

  const resultOf = (envelope: Envelope, count = 1) =>
    eventually(
      () => {
        const found = results.filter(({ command_event_id }) => command_event_id === envelope.event_id);
        return found.length >= count ? found[found.length - 1] : undefined;
      },
      { what: 'the result', deadlineMs: 30_000 },
    );
  const count = async (table: string): Promise<number> =>
    (await db.select(`SELECT 1 AS one FROM ${table} WHERE conversation_id = ?`, [group])).length;

  describe('over the whole road', () => {
    let core: Part;
    beforeEach(async () => {
      core = imCore();
      await core.start();
    });
    afterEach(() => core.stop());

    it('mutes, answers, audits and tells the members (CMD-15, CMD-25, CMD-39, CMD-40, CMD-41)', async () => {
      const envelope = order();
      await send(envelope);
      const result = await resultOf(envelope);
      assert.equal(result.status, 'succeeded');
      assert.equal(result.trace_id, envelope.trace_id);
      assert.equal(result.result['version'], 2);
      const audit = await eventually(() => audits.find(({ trace_id }) => trace_id === envelope.trace_id), { what: 'the audit event' });
      assert.deepEqual(audit.actor, ADMIN);
      assert.equal(audit.payload['actor_user_id'], 'usr1');
      assert.equal(await count('im_group_mutes'), 1);
      const [notice] = await db.select<{ payload: Buffer; kind: string }>(
        'SELECT kind, payload FROM im_business_events_outbox WHERE conversation_id = ?',
        [group],
      );
      const body = JSON.parse(notice?.payload.toString() ?? '{}') as {
        event: string;
        trace_id: string;
        actor: unknown;
        data: { user_id: string };
      };
      assert.deepEqual([notice?.kind, body.event, body.trace_id], ['EVENT', 'group.mute.updated', envelope.trace_id]);
      assert.deepEqual([body.actor, body.data.user_id], [{ type: 'user', id: 'usr1' }, MEMBER.toString()]);
      assert.deepEqual(enqueued, [BigInt(result.result['change_id'] as string)]);
    });

    it('is quick, because everybody is woken', async () => {
      const warm = order();
      await send(warm);
      await resultOf(warm);
      const times: number[] = [];
      for (let round = 0; round < 20; round += 1) {
        const envelope = order({}, round % 2 === 0 ? 'group.member.unmute' : 'group.member.mute');
        const startedMs = performance.now();
        await send(envelope);
        while (!results.some(({ command_event_id }) => command_event_id === envelope.event_id))
          await new Promise((next) => setTimeout(next, 1));
        times.push(performance.now() - startedMs);
      }
      times.sort((left, right) => left - right);
      process.stderr.write(
        `    insert -> Kafka -> executed -> result: median ${(times[10] ?? 0).toFixed(0)} ms, slowest ${(times[19] ?? 0).toFixed(0)} ms\n`,
      );
      assert.ok((times[10] ?? Number.NaN) < 900, 'slower than the poll: nobody was woken');
    });

    it('executes an order once and answers its repetition, and refuses its id with other content (CMD-16, CMD-17, X-12)', async () => {
      const envelope = order({ command_id: 'cmd_same' });
      await send(envelope);
      const first = await resultOf(envelope);
      const again = { ...envelope, event_id: newId('evt') };
      await send(again);
      assert.deepEqual((await resultOf(again)).result, first.result);
      const other = order({ command_id: 'cmd_same', reason: 'another' });
      await send(other);
      assert.equal((await resultOf(other)).reason, 'COMMAND_DUPLICATED');
      assert.equal(await count('t_conversation_changes'), 2); // Joining and one mute.
    });

    it('passes over what was forged or is poison, and goes on (KFK-21)', async () => {
      const plain = topics.kafka.producer();
      await plain.connect();
      const forged = order();
      const key = `default:${forged.biz_id}`;
      await plain.send({
        topic: topics.topic('im.admin.command'),
        acks: -1,
        messages: [
          { key, value: JSON.stringify(forged) },
          { key, value: Buffer.from([0, 1, 2]) },
        ],
      });
      await plain.disconnect();
      const genuine = order();
      await send(genuine);
      await resultOf(genuine);
      const rows = await control.open(1).select<{ reason: Buffer }>('SELECT reason FROM im_kafka_quarantine ORDER BY id');
      assert.deepEqual(
        rows.map(({ reason }) => reason.toString()),
        ['SIGNATURE_MISSING', 'SIGNATURE_MISSING'],
      );
      assert.equal(await count('t_conversation_changes'), 2);
    });

    it('refuses what the group, the member, the actor or the version forbid, and changes nothing (CMD-20, X-48, X-53)', async () => {
      const cases = [
        [order({ actor_user_id: 'usr999' }), 'failed', 'FORBIDDEN'],
        [order({ user_id: `usr${STRANGER.toString()}` }), 'failed', 'RESOURCE_NOT_FOUND'],
        [order({ topic: 'grp12345' }), 'failed', 'RESOURCE_NOT_FOUND'],
        [order({ version: 7 }), 'failed', 'GROUP_VERSION_CONFLICT'],
        [{ ...order(), version: 7 }, 'failed', 'GROUP_VERSION_CONFLICT'],
        [order({ expires_at: 'tomorrow' }), 'dead', 'INVALID_ARGUMENT'],
        [order({ expires_at: undefined }), 'dead', 'INVALID_ARGUMENT'],
        [order({ user_id: '102' }), 'dead', 'INVALID_ARGUMENT'],
        [order({ version: 1 }), 'succeeded', ''],
      ] as const;
      await send(...cases.map(([envelope]) => envelope));
      for (const [envelope, status, reason] of cases) {
        const result = await resultOf(envelope);
        assert.deepEqual([result.status, result.reason], [status, reason]);
      }
      assert.equal(await count('t_conversation_changes'), 2);
    });

    it('lifts a mute, and lifting nothing is no error (CMD-42)', async () => {
      const [mute, lift, nothing] = [
        order({ expires_at: '2126-01-01T00:00:00.000Z' }),
        order({}, 'group.member.unmute'),
        order({}, 'group.member.unmute'),
      ];
      await send(mute, lift, nothing);
      const [muted, lifted, unchanged] = [await resultOf(mute), await resultOf(lift), await resultOf(nothing)];
      assert.deepEqual([muted.result['version'], lifted.result['version'], unchanged.result['version']], [2, 3, 3]);
      assert.equal(muted.result['expires_at'], '2126-01-01T00:00:00.000Z');
      assert.equal(unchanged.result['change_id'], null);
      assert.equal(await count('im_group_mutes'), 0);
    });
  });

  it('is executed once over a consumer that dies before the commit and one that dies before the offset (IDM-13)', async () => {
    const envelope = order();
    await send(envelope);
    for (const moment of ['before-commit', 'before-offset']) {
      const key = KEYS.get('hotgo-admin-api')?.toString('hex');
      const prefix = { topic: topics.prefix, key: redis.code };
      const args = { moment, mysql: tenant.login, tenant: tenant.name, control: control.name, brokers: topics.brokers, prefix, key };
      const fixture = new URL('./killed-consumer.fixture.ts', import.meta.url).pathname;
      const child = spawn(process.execPath, [fixture, JSON.stringify(args)], { stdio: 'inherit' });
      assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
      assert.equal(await count('im_group_mutes'), moment === 'before-commit' ? 0 : 1);
    }
    const core = imCore();
    await core.start();
    const later = order();
    await send(later);
    await resultOf(later);
    await core.stop();
    assert.equal((await resultOf(envelope)).status, 'succeeded');
    assert.equal(results.filter(({ command_event_id }) => command_event_id === envelope.event_id).length, 1);
    assert.equal(await count('t_conversation_changes'), 3); // Joining and the two orders.
  });
});
