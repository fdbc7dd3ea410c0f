/** outbox-and-cron: brings out what the tenants' databases committed, events to Kafka and notices to people, and tidies up. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { ulid } from 'ulid';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { readSecret } from '#shared/platform/config/secret.ts';
import { RelayStore } from '#shared/platform/events/relay-store.ts';
import type { Backlog } from '#shared/platform/events/relay-store.ts';
import { watchBacklog } from '#shared/platform/events/watch-backlog.ts';
import type { Backlogs } from '#shared/platform/events/watch-backlog.ts';
import { OpsServer } from '#shared/platform/http/ops-server.ts';
import type { Dependency } from '#shared/platform/http/ops-server.ts';
import { openKafka } from '#shared/platform/kafka/client.ts';
import { KafkaProducer } from '#shared/platform/kafka/producer.ts';
import { part, runProcess } from '#shared/platform/lifecycle/run-process.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import { openLog } from '#shared/platform/log/log.ts';
import type { Log } from '#shared/platform/log/log.ts';
import { logSent } from '#shared/platform/events/log-sent.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { openDatabase } from '#shared/platform/mysql/mysql-database.ts';
import { closeRedis, openRedis } from '#shared/platform/redis/redis.ts';
import type { Redis, RedisLogin } from '#shared/platform/redis/redis.ts';
import { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import { Epoch } from '#shared/tenant/deliver/epoch.ts';
import { Keys } from '#shared/tenant/dialog/keys.ts';
import { deliverNotice } from '#shared/tenant/notice/deliver-notice.ts';
import { loadOutboxAndCronConfig } from './config.ts';
import type { OutboxAndCronConfig } from './config.ts';
import { purgeSent } from './cron/purge-sent.ts';
import { Cron } from './cron/schedule.ts';
import { NoticeStore } from './notices/notice-store.ts';
import { noticeWorker } from './notices/notice-worker.ts';
import { tenantRelay } from './relay/tenant-relay.ts';

const SERVICE = 'outbox-and-cron';

/** What the rooms share. */
interface Base {
  readonly config: OutboxAndCronConfig;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly control: Database;
  readonly databases: ReadonlyMap<string, Database>;
  readonly redis: Redis;
  readonly redisLogin: RedisLogin;
  readonly owner: string;
}

async function main(path: string): Promise<void> {
  const config = await loadOutboxAndCronConfig(path);
  const log = openLog(SERVICE, config.log.level);
  const base = await openBase(config, log);
  const producer = await buildProducer(base);
  const ops = buildOps(base, producer);
  // Nothing here waits for a server at its start: every loop goes on trying by itself.
  const parts: Part[] = [
    ops,
    part('mysql', () => Promise.resolve(), () => closeAll(base)), // prettier-ignore
    part('redis', () => Promise.resolve(void base.redis.connect().catch(() => undefined)), () => closeRedis(base.redis)), // prettier-ignore
    ...buildNotices(base),
    ...(producer === undefined ? [] : [producer, ...buildRelays(base, producer)]),
    buildCron(base),
  ];
  await runProcess(log, { parts, running: () => ops.running(), stopping: () => ops.stopping() });
}

async function openBase(config: OutboxAndCronConfig, log: Log): Promise<Base> {
  const mysql = { address: config.mysql.address, user: config.mysql.user, password: await readSecret(config.mysql.password_file) };
  const redisLogin = { address: config.redis.address, user: config.redis.user, password: await readSecret(config.redis.password_file) };
  const open = (name: string): Database => openDatabase(mysql, name, { poolSize: config.mysql.pool_size });
  return {
    config,
    log,
    metrics: new Metrics().collectProcess(),
    control: open(config.control_database),
    databases: new Map(config.tenants.map(({ code, database }) => [code, open(database)] as const)),
    redis: openRedis(redisLogin, { log }),
    redisLogin,
    owner: `${SERVICE} ${hostname()} pid ${String(process.pid)} ${ulid()}`.slice(0, 128),
  };
}

async function closeAll({ control, databases }: Base): Promise<void> {
  await Promise.all([control, ...databases.values()].map((database) => database.close()));
}

async function buildProducer({ config, log, owner }: Base): Promise<KafkaProducer | undefined> {
  if (!config.kafka.enabled) return undefined;
  const file = config.kafka.signing_keys[SERVICE];
  if (file === undefined) throw new Error(`kafka.signing_keys has no key of ${SERVICE}`);
  const kafka = openKafka({ brokers: config.kafka.brokers, clientId: owner.replaceAll(' ', '-'), log });
  return new KafkaProducer(kafka, { service: SERVICE, key: Buffer.from(await readSecret(file)) });
}

function buildRelays({ config, log, metrics, databases, redisLogin, owner }: Base, producer: KafkaProducer): readonly Part[] {
  const sent = metrics.counter('outbox_sent_total', 'Events that Kafka has taken.', ['tenant']);
  return [...databases].map(([tenant, db]) =>
    tenantRelay(
      {
        db,
        producer,
        log,
        redis: redisLogin,
        onSent: (rows) => {
          sent.inc({ tenant }, rows.length);
          logSent(log, rows);
        },
      },
      {
        leaseDatabase: config.control_database,
        owner,
        batch: config.relay.batch,
        pollMs: config.relay.poll_ms,
        retryBackoffMs: config.kafka.retry_backoff_ms,
      },
    ),
  );
}

function buildNotices({ config, log, databases, redis, redisLogin, owner }: Base): readonly Part[] {
  const epoch = new Epoch(redis);
  return [...databases].map(([tenant, db]) => {
    const lists = new DialogLists({ redis, epoch, keys: new Keys(tenant) });
    return noticeWorker(
      { db, log, redis: redisLogin, deliver: (notice) => deliverNotice({ tenant, db, redis, lists, base: '' }, notice) },
      { leaseDatabase: config.control_database, owner, batch: config.relay.batch, pollMs: config.relay.poll_ms },
    );
  });
}

function buildCron({ config, log, control, databases, owner }: Base): Cron {
  const jobs = [...databases].map(([tenant, db]) => ({
    name: `purge-sent:${tenant}`,
    at: '17 * * * *',
    run: () => purgeSent({ db, clock: systemClock, keepMs: config.cron.keep_sent_ms }),
  }));
  return new Cron({ jobs, control, owner, log });
}

function buildOps({ config, log, metrics, control, databases, redis }: Base, producer: KafkaProducer | undefined): OpsServer {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  const kafka = (): Promise<void> =>
    producer?.isReachable === true ? Promise.resolve() : Promise.reject(new Error('the last send did not reach a broker'));
  const dependencies: Dependency[] = [
    { name: 'mysql', required: true, check: () => control.select('SELECT 1') },
    { name: 'redis', required: true, check: () => redis.ping() },
    ...(producer === undefined ? [] : [{ name: 'kafka', required: false, check: kafka }]),
  ];
  const each = <T>(look: (db: Database) => T): Map<string, T> => new Map([...databases].map(([tenant, db]) => [tenant, look(db)] as const));
  const stores = { outbox: each((db) => new RelayStore(db, 'im_kafka_outbox')), notices: each((db) => new NoticeStore(db)) };
  const outbox = watchBacklog(metrics, 'outbox', backlogsOf(stores.outbox));
  const notices = watchBacklog(metrics, 'notices', backlogsOf(stores.notices));
  return new OpsServer(
    { listen: config.ops.listen, service: SERVICE, version, configHash: config.config_hash },
    { dependencies, metrics, log, details: async () => ({ ...(await outbox()), ...(await notices()) }) },
  );
}

function backlogsOf(stores: ReadonlyMap<string, { backlog(): Promise<Backlog> }>): Backlogs {
  return new Map([...stores].map(([tenant, store]) => [tenant, () => store.backlog()] as const));
}

await main(process.argv[2] ?? '');
