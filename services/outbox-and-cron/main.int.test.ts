import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildEnvelope } from '#shared/contract/envelope.ts';
import { appendOutbox, openOutbox } from '#shared/platform/events/outbox.ts';
import { noWake } from '#shared/platform/events/wake.ts';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import { appendNotice } from '#shared/tenant/notice/append-notice.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshTopics } from '#shared/testing/kafka.ts';
import type { FreshTopics } from '#shared/testing/kafka.ts';
import { testServers } from '#shared/testing/servers.ts';
import { eventually, within } from '#shared/testing/wait.ts';

interface Ready {
  readonly status: string;
  readonly degraded: readonly string[];
}

describe('outbox-and-cron', function () {
  this.timeout(60_000);
  let tenant: FreshDatabase;
  let control: FreshDatabase;
  let topics: FreshTopics;
  let home: string;
  const user = `w_${randomBytes(5).toString('hex')}`;
  const code = user.replace('_', '-');

  before(async () => {
    [tenant, control, topics] = await Promise.all([freshDatabase('tenant'), freshDatabase('control'), freshTopics(['events'])]);
    home = await mkdtemp('/tmp/ima-');
    await writeFile(join(home, 'secret'), 'secret\n');
    await asRoot([
      `CREATE USER '${user}' IDENTIFIED BY 'secret'`,
      `GRANT ALL ON ${tenant.name}.* TO '${user}'`,
      `GRANT ALL ON ${control.name}.* TO '${user}'`,
    ]);
  });
  after(async () => {
    await asRoot([`DROP USER '${user}'`]);
    await Promise.all([tenant.drop(), control.drop(), topics.remove(), rm(home, { recursive: true })]);
  });

  async function asRoot(statements: readonly string[]): Promise<void> {
    const connection = await openConnection(testServers().mysql);
    for (const statement of statements) await connection.change(statement);
    await connection.close();
  }

  async function startProcess(brokers: readonly string[]) {
    const secret = join(home, 'secret');
    const config = {
      generated: 'for a test',
      config_hash: 'abc',
      service: 'outbox-and-cron',
      ops: { listen: `unix:${home}/ops.sock` },
      mysql: { address: testServers().mysql.address, user, password_file: secret },
      redis: { address: testServers().redis.address, user: 'default', password_file: secret },
      kafka: { brokers, signing_keys: { 'outbox-and-cron': secret }, retry_backoff_ms: [200] },
      tenants: [{ code, database: tenant.name }],
      control_database: control.name,
    };
    const file = join(home, 'outbox-and-cron.json');
    await writeFile(file, JSON.stringify(config));
    const main = new URL('./main.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = text(child.stdout);
    return {
      child,
      ready: () =>
        eventually(async () => ((await readyz()).status === 'ready' ? readyz() : undefined), { what: 'readiness', deadlineMs: 20_000 }),
      end: async (): Promise<string> => {
        child.kill('SIGTERM');
        assert.deepEqual(await within(once(child, 'exit'), { what: 'the drain', deadlineMs: 25_000 }), [0, null]);
        return lines;
      },
    };
  }

  function readyz(): Promise<Ready> {
    const { promise, resolve, reject } = Promise.withResolvers<Ready>();
    request({ socketPath: `${home}/ops.sock`, path: '/readyz' }, (response) => {
      text(response).then((body) => resolve(JSON.parse(body) as Ready), reject);
    })
      .on('error', reject)
      .end();
    return promise;
  }

  it('brings out events and notices, and drains at SIGTERM (OBX-08, OBX-14)', async () => {
    const started = await startProcess(topics.brokers);
    await started.ready();
    const db = tenant.open(2);
    const event = { source_service: 'im-server', target_service: 'im-server', event_type: 't', biz_type: 't', biz_id: '1' };
    const envelope = buildEnvelope({ ...event, tenant_code: code, actor: { type: 'system', id: 't' }, payload: {} });
    await db.transaction(async (tx) => {
      await appendOutbox(tx, openOutbox('im_kafka_outbox', noWake), { topic: topics.topic('events'), orderKey: 'k', envelope });
      await appendNotice({ wake: () => undefined }, tx, { kind: 'EVENT', orderKey: 'k', userId: 5n, payload: {}, traceId: 'req_1' });
    });
    const ends = async (table: string, status: string): Promise<boolean> =>
      (await db.select(`SELECT id FROM ${table} WHERE status = ?`, [status])).length === 1;
    await eventually(() => ends('im_kafka_outbox', 'sent'), { what: 'the event' });
    await eventually(() => ends('im_business_events_outbox', 'done'), { what: 'the notice' });
    assert.deepEqual((await started.ready()).degraded, []);
    assert.match(await started.end(), /"message":"stopped"/);
  });

  it('is ready without Kafka, and says so', async () => {
    const started = await startProcess(['127.0.0.1:1']);
    assert.deepEqual((await started.ready()).degraded, ['kafka']);
    await started.end();
  });
});
