import assert from 'node:assert/strict';
import { buildEnvelope, parseCommandResult } from '#shared/contract/envelope.ts';
import type { CommandResult, Envelope, NewEnvelope } from '#shared/contract/envelope.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import type { InRecord } from '../kafka/consumer.ts';
import { silentLog } from '../log/log.ts';
import type { Database, Tx } from '../mysql/database.ts';
import { anyCommand, CommandInbox } from './commands.ts';
import { ConsumeLog } from './consume-log.ts';
import { Operations } from './operations.ts';
import { openOutbox } from './outbox.ts';
import { Quarantine } from './quarantine.ts';
import { receiver } from './receive.ts';
import { noWake } from './wake.ts';

const GROUP = 'executor';

describe('commands', function () {
  let tenant: FreshDatabase;
  let control: FreshDatabase;
  let db: Database;
  let controlDb: Database;
  let offset = 0n;
  /** What the test's command does next. */
  let behaviour: (tx: Tx) => Promise<void>;
  let committed: string[];

  before(async () => {
    [tenant, control] = await Promise.all([freshDatabase('tenant'), freshDatabase('control')]);
    db = tenant.open();
    controlDb = control.open();
  });
  beforeEach(() => {
    behaviour = () => Promise.resolve();
    committed = [];
  });
  afterEach(async () => {
    for (const table of ['im_kafka_outbox', 'im_kafka_consume_log', 'im_kafka_operations']) await db.change(`DELETE FROM ${table}`);
    await db.change(`DELETE FROM t_tenant_state WHERE name LIKE 'done%'`);
    await controlDb.change('DELETE FROM im_kafka_quarantine');
  });
  after(async () => {
    await Promise.all([tenant.drop(), control.drop()]);
  });

  const put = anyCommand<{ name: string }>({
    eventType: 'test.put',
    parse: ({ name }) => {
      if (typeof name !== 'string') throw new Refusal('INVALID_ARGUMENT', 'name must be a text', { field: 'name' });
      return { name };
    },
    execute: async (tx, { name }) => {
      await tx.change('INSERT INTO t_tenant_state (name, value) VALUES (?, ?)', [`done.${name}.${committed.length.toString()}`, 'x']);
      tx.afterCommit(() => committed.push(name));
      await behaviour(tx);
      return { result: { name } };
    },
  });

  const handle = (maxRetryCount = 2) =>
    receiver(
      {
        inbox: new CommandInbox({
          handlers: [put],
          operations: new Operations('im_kafka_operations'),
          outbox: openOutbox('im_kafka_outbox', noWake),
        }),
        consumeLog: new ConsumeLog('im_kafka_consume_log', GROUP),
        quarantine: new Quarantine(controlDb, 'im_kafka_quarantine', GROUP),
        databaseOf: (code) => (code === 'default' ? db : undefined),
        log: silentLog,
      },
      { maxRetryCount },
    );

  function command(fields: Partial<NewEnvelope> = {}): Envelope {
    return buildEnvelope({
      tenant_code: 'default',
      source_service: 'hotgo-admin',
      target_service: 'im-server',
      event_type: 'test.put',
      biz_type: 'test',
      biz_id: '1',
      actor: { type: 'admin', id: 'admin_1' },
      payload: { command_id: 'cmd_1', name: 'one' },
      ...fields,
    });
  }

  function record(value: Envelope | Buffer | null, fields: Partial<InRecord> = {}): InRecord {
    offset += 1n;
    const bytes = value === null || Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
    return {
      topic: 'commands',
      partition: 0,
      offset,
      key: Buffer.from('k'),
      value: bytes,
      headers: new Map(),
      fault: undefined,
      attempt: 0,
      ...fields,
    };
  }

  async function results(): Promise<readonly CommandResult[]> {
    const rows = await db.select<{ envelope: Buffer }>('SELECT envelope FROM im_kafka_outbox ORDER BY id');
    return rows.map(({ envelope }) => {
      const parsed = parseCommandResult(envelope);
      assert.equal(parsed.kind, 'ok');
      return parsed.value;
    });
  }
  const brief = async () => (await results()).map(({ command_id, status, reason }) => `${command_id} ${status} ${reason}`.trim());
  const effects = async (): Promise<number> => (await db.select(`SELECT name FROM t_tenant_state WHERE name LIKE 'done%'`)).length;
  const logged = async () => {
    const rows = await db.select<{ status: string; retry_count: number }>(
      'SELECT status, retry_count FROM im_kafka_consume_log ORDER BY created_at',
    );
    return rows.map(({ status, retry_count }) => `${status} ${retry_count.toString()}`);
  };
  const quarantined = async () => {
    const rows = await controlDb.select<{ reason: Buffer; record_value: Buffer | null }>(
      'SELECT reason, record_value FROM im_kafka_quarantine ORDER BY id',
    );
    return rows.map(({ reason }) => reason.toString());
  };

  it('are executed whatever bytes the key of the record has', async () => {
    await handle()(record(command(), { key: Buffer.alloc(300, 0xff) }));
    assert.deepEqual(await brief(), ['cmd_1 succeeded']);
    const [row] = await db.select<{ order_key: Buffer }>('SELECT order_key FROM im_kafka_consume_log');
    assert.deepEqual(row?.order_key, Buffer.alloc(255, 0xff));
  });

  it('are executed and answered in one transaction (CMD-09, CMD-18)', async () => {
    const envelope = command();
    await handle()(record(envelope));
    const [result] = await results();
    assert.equal(result?.command_event_id, envelope.event_id);
    assert.equal(result.trace_id, envelope.trace_id);
    assert.deepEqual(result.result, { name: 'one' });
    assert.deepEqual(await brief(), ['cmd_1 succeeded']);
    assert.deepEqual(await logged(), ['succeeded 0']);
    assert.equal(await effects(), 1);
    assert.deepEqual(committed, ['one']);
  });

  it('are executed once when Kafka delivers the record again, without a second answer (IDM-04, CMD-17)', async () => {
    const delivered = record(command());
    for (let time = 0; time < 3; time += 1) await handle()(delivered);
    assert.equal(await effects(), 1);
    assert.deepEqual(await brief(), ['cmd_1 succeeded']);
  });

  it('get the stored answer again when the sender sends them again (X-12, B17)', async () => {
    const envelope = command();
    await handle()(record(envelope));
    await handle()(record(envelope)); // The original once more.
    await handle()(record(command())); // Another event with the same command.
    assert.equal(await effects(), 1);
    assert.deepEqual(await brief(), ['cmd_1 succeeded', 'cmd_1 succeeded', 'cmd_1 succeeded']);
    const ids = (await results()).map(({ event_id }) => event_id);
    assert.equal(new Set(ids).size, 3);
  });

  it('are refused when a known id comes with other content, and the first outcome stays (X-12)', async () => {
    await handle()(record(command()));
    await handle()(record(command({ payload: { command_id: 'cmd_1', name: 'two' } })));
    await handle()(record(command()));
    assert.equal(await effects(), 1);
    assert.deepEqual(await brief(), ['cmd_1 succeeded', 'cmd_1 failed COMMAND_DUPLICATED', 'cmd_1 succeeded']);
  });

  it('are executed once when two events with one command arrive at the same moment', async () => {
    await Promise.all([handle()(record(command())), handle()(record(command())), handle()(record(command()))]);
    assert.equal(await effects(), 1);
    assert.deepEqual(await brief(), ['cmd_1 succeeded', 'cmd_1 succeeded', 'cmd_1 succeeded']);
  });

  it('end as failed for a business reason and leave nothing behind (CMD-20, RTY-02, RTY-03)', async () => {
    behaviour = () => Promise.reject(new Refusal('GROUP_VERSION_CONFLICT', 'version is 4', { version: 4 }));
    await handle()(record(command()));
    assert.equal(await effects(), 0);
    assert.deepEqual(committed, []);
    assert.deepEqual(await brief(), ['cmd_1 failed GROUP_VERSION_CONFLICT']);
    assert.deepEqual((await results())[0]?.result, { version: 4 });
    assert.deepEqual(await logged(), ['dead 0']);
    behaviour = () => Promise.resolve();
    await handle()(record(command()));
    assert.deepEqual((await brief())[1], 'cmd_1 failed GROUP_VERSION_CONFLICT');
    assert.equal(await effects(), 0);
  });

  it('end as dead when they are malformed, and are still answered (CMD-23, KFK-20)', async () => {
    await handle()(record(command({ payload: { command_id: 'cmd_1', name: 5 } })));
    await handle()(record(command({ event_type: 'test.unknown', payload: { command_id: 'cmd_2' } })));
    await handle()(record(Buffer.from(JSON.stringify({ ...command({ payload: { command_id: 'cmd_3' } }), version: 'x' }))));
    const anonymous = command({ payload: {} });
    await handle()(record(anonymous));
    assert.deepEqual(await brief(), [
      'cmd_1 dead INVALID_ARGUMENT',
      'cmd_2 dead INVALID_ARGUMENT',
      'cmd_3 dead INVALID_ARGUMENT',
      'dead INVALID_ARGUMENT',
    ]);
    assert.equal((await results())[3]?.command_event_id, anonymous.event_id);
    assert.deepEqual(await db.select('SELECT command_id FROM im_kafka_operations'), []);
  });

  it('come again without a trace when something they need is away, however often (RTY-13)', async () => {
    const delivered = record(command());
    for (let time = 0; time < 5; time += 1) {
      behaviour = () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
      await assert.rejects(handle()(delivered));
    }
    behaviour = () => Promise.reject(new Refusal('BUSY'));
    await assert.rejects(handle()(delivered));
    assert.deepEqual([await effects(), await brief(), await logged()], [0, [], []]);
    behaviour = () => Promise.resolve();
    await handle()(delivered);
    assert.deepEqual(await brief(), ['cmd_1 succeeded']);
  });

  it('survive a connection that is killed before the commit: executed once afterwards', async () => {
    const killer = tenant.open(1);
    behaviour = async (tx) => {
      const [row] = await tx.select<{ id: string }>('SELECT CONNECTION_ID() AS id');
      await killer.change(`KILL ${row?.id ?? ''}`);
      await tx.select('SELECT 1 AS one');
    };
    const delivered = record(command());
    await assert.rejects(handle()(delivered));
    assert.deepEqual([await effects(), await brief(), await logged()], [0, [], []]);
    behaviour = () => Promise.resolve();
    await handle()(delivered);
    assert.deepEqual([await effects(), await brief()], [1, ['cmd_1 succeeded']]);
  });

  it('are dead after the allowed attempts when a bug meets them every time (RTY-10, RTY-11)', async () => {
    behaviour = () => Promise.reject(new TypeError('secret_table is undefined'));
    const delivered = record(command());
    await assert.rejects(handle()(delivered));
    assert.deepEqual(await logged(), ['failed 1']);
    await assert.rejects(handle()(delivered));
    await handle()(delivered);
    assert.deepEqual(await logged(), ['dead 3']);
    assert.deepEqual(await brief(), ['cmd_1 dead INTERNAL']);
    assert.equal((await results())[0]?.message.includes('secret_table'), false);
    assert.equal(await effects(), 0);
    await handle()(delivered);
    assert.deepEqual(await brief(), ['cmd_1 dead INTERNAL']);
  });

  it('go to the quarantine, as they came, when nobody can be told (B20, KFK-21)', async () => {
    const poison = Buffer.from([0xff, 0x00, 0x7b]);
    const unreadable = record(poison);
    await handle()(unreadable);
    await handle()(unreadable);
    await handle()(record(null));
    await handle()(record(command({ tenant_code: 'nobody' })));
    await handle()(record(command(), { fault: 'SIGNATURE_MISSING' }));
    await handle()(record(command({ payload: { command_id: 'cmd_9', name: 'after' } })));
    assert.deepEqual(await quarantined(), ['UNREADABLE', 'UNREADABLE', 'UNKNOWN_TENANT', 'SIGNATURE_MISSING']);
    const [kept] = await controlDb.select<{ record_value: Buffer }>('SELECT record_value FROM im_kafka_quarantine ORDER BY id LIMIT 1');
    assert.deepEqual(kept?.record_value, poison);
    assert.deepEqual(await brief(), ['cmd_9 succeeded']);
  });
});
