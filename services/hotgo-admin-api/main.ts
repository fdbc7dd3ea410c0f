/** hotgo-admin-api: the back office. Everything is built here and nowhere else. */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { readSecret } from '#shared/platform/config/secret.ts';
import { logSent } from '#shared/platform/events/log-sent.ts';
import { openOutbox } from '#shared/platform/events/outbox.ts';
import { RelayStore } from '#shared/platform/events/relay-store.ts';
import { redisWake } from '#shared/platform/events/wake.ts';
import { watchBacklog } from '#shared/platform/events/watch-backlog.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { HttpServer } from '#shared/platform/http/http-server.ts';
import { OpsServer } from '#shared/platform/http/ops-server.ts';
import type { Dependency } from '#shared/platform/http/ops-server.ts';
import { loadKnownServices } from '#shared/platform/hmac/known-services.ts';
import { NonceStore } from '#shared/platform/hmac/nonce-store.ts';
import { openKafka } from '#shared/platform/kafka/client.ts';
import type { KafkaConsumer } from '#shared/platform/kafka/consumer.ts';
import { KafkaProducer } from '#shared/platform/kafka/producer.ts';
import { watchLag } from '#shared/platform/kafka/watch-lag.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import { part, patiently, runProcess } from '#shared/platform/lifecycle/run-process.ts';
import { openLog } from '#shared/platform/log/log.ts';
import type { Log } from '#shared/platform/log/log.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import { remember } from '#shared/platform/metrics/remember.ts';
import { openModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import type { ModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import { closeRedis, connectRedis, openRedis } from '#shared/platform/redis/redis.ts';
import type { Redis, RedisLogin } from '#shared/platform/redis/redis.ts';
import { adminApi } from './admin-api/admin-api.ts';
import type { AdminApiDeps } from './admin-api/deps.ts';
import { ImCoreClient } from './admin-api/im-core-client.ts';
import { loadHotgoAdminApiConfig } from './config.ts';
import type { HotgoAdminApiConfig } from './config.ts';
import { tenantAnswers } from './consumers/tenant-answers.ts';
import { seedFirstAdministrator } from './domain/administrator/administrator.ts';
import { administratorModel } from './domain/administrator/administrator-model.ts';
import { commandModel } from './domain/command/command-model.ts';
import { markRunning, resendOverdue } from './domain/command/ledger.ts';
import { countOpenCommands } from './domain/command/ledger-details.ts';
import { tenantModel } from './domain/tenant/tenant-model.ts';
import { internalApi } from './internal-api/internal-api.ts';
import { adminRelay } from './relay/admin-relay.ts';
import { resendLoop } from './relay/resend-loop.ts';

/** What the rooms share. */
interface Base {
  readonly config: HotgoAdminApiConfig;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: ModelDatabase;
  readonly redis: Redis;
  readonly redisLogin: RedisLogin;
  /** Absent where Kafka is switched off: orders then wait in the outbox. */
  readonly producer: KafkaProducer | undefined;
}

const SERVICE = 'hotgo-admin-api';
const OUTBOX = 'admin_outbox';

async function main(path: string): Promise<void> {
  const config = await loadHotgoAdminApiConfig(path);
  const log = openLog(SERVICE, config.log.level);
  const base = await openBase(config, log);
  const { db, redis } = base;
  const api = await buildApi(base);
  const { parts: events, consumer } = await buildEvents(base);
  const ops = buildOps(base, consumer);
  const parts: Part[] = [
    ops,
    patiently(part('mysql', () => db.select('SELECT 1'), () => db.close()), log), // prettier-ignore
    patiently(part('redis', () => connectRedis(redis), () => closeRedis(redis)), log), // prettier-ignore
    patiently(part('first administrator', () => seed(base, api)), log), // prettier-ignore
    ...events,
    await buildHttp(base, api),
  ];
  await runProcess(log, { parts, running: () => ops.running(), stopping: () => ops.stopping() });
}

async function openBase(config: HotgoAdminApiConfig, log: Log): Promise<Base> {
  const { mysql, redis: redisConfig, kafka } = config;
  const login = { address: mysql.address, user: mysql.user, password: await readSecret(mysql.password_file) };
  const db = openModelDatabase(login, mysql.database, { poolSize: mysql.pool_size });
  const redisLogin = { address: redisConfig.address, user: redisConfig.user, password: await readSecret(redisConfig.password_file) };
  const metrics = new Metrics().collectProcess();
  const producer = kafka.enabled ? await openProducer(config, log) : undefined;
  return { config, log, metrics, db, redis: openRedis(redisLogin, { log }), redisLogin, producer };
}

async function openProducer({ kafka }: HotgoAdminApiConfig, log: Log): Promise<KafkaProducer> {
  const keyFile = kafka.signing_keys[SERVICE];
  if (keyFile === undefined) throw new Error(`kafka.signing_keys has no key for ${SERVICE}`);
  const key = Buffer.from(await readSecret(keyFile));
  return new KafkaProducer(openKafka({ brokers: kafka.brokers, clientId: SERVICE, log }), { service: SERVICE, key });
}

async function buildApi({ config, log, db, redis }: Base): Promise<AdminApiDeps> {
  const { admin, im_core: imCore, tenants } = config;
  const tokenKey = Buffer.from(await readSecret(admin.token_key_file));
  return {
    db,
    log,
    administrators: administratorModel(db.sequelize),
    commands: commandModel(db.sequelize),
    outbox: openOutbox(OUTBOX, redisWake(redis, log)),
    tokens: new SignedTokens({ key: tokenKey, audience: 'admin', ttlMs: admin.access_ttl_ms, clock: systemClock }),
    passwords: new Passwords(),
    pause: new LoginPause(redis, 'admin:login:'),
    tenants: tenants.map(({ code }) => code),
    imCore: new ImCoreClient(
      {
        base: imCore.base,
        serviceName: imCore.service_name,
        secret: Buffer.from(await readSecret(imCore.key.secret_file)),
        timeoutMs: imCore.timeout_ms,
      },
      log,
    ),
  };
}

/** The password itself is read only where it is needed, and never shown. */
async function seed({ config, log }: Base, deps: AdminApiDeps): Promise<void> {
  const { name, password_file: file } = config.admin.first_admin;
  const isNew = await seedFirstAdministrator(deps, { name, password: await readSecret(file) });
  if (isNew) log.info({ administrator: name }, 'first administrator created');
}

interface Events {
  readonly parts: readonly Part[];
  readonly consumer: KafkaConsumer | undefined;
}

async function buildEvents({ config, log, metrics, db, redis, redisLogin, producer }: Base): Promise<Events> {
  const { kafka, relay: relayConfig, tenants } = config;
  if (producer === undefined) return { parts: [], consumer: undefined };
  const sent = metrics.counter('outbox_sent_total', 'Rows of the outbox that Kafka has taken.');
  const owner = `${SERVICE} ${hostname()} ${process.pid}`;
  const retryBackoffMs = kafka.retry_backoff_ms;
  const relay = adminRelay(
    {
      db,
      producer,
      log,
      redis: redisLogin,
      onSent: (rows) => {
        sent.inc(rows.length);
        logSent(log, rows);
      },
      onTaken: (eventIds) => markRunning(db, eventIds),
    },
    { leaseDatabase: db.name, owner, batch: relayConfig.batch, pollMs: relayConfig.poll_ms, retryBackoffMs },
  );
  const files = Object.entries(kafka.signing_keys);
  const keys = new Map(await Promise.all(files.map(async ([service, file]) => [service, Buffer.from(await readSecret(file))] as const)));
  const answers = tenantAnswers(
    { kafka: openKafka({ brokers: kafka.brokers, clientId: SERVICE, log }), keys, db, tenants: tenants.map(({ code }) => code), log },
    { retryBackoffMs, maxRetryCount: kafka.max_retry_count },
  );
  const outbox = openOutbox(OUTBOX, redisWake(redis, log));
  const resend = resendLoop(
    { db, log, resend: (limit) => resendOverdue({ db, outbox, nowMs: () => systemClock.nowMs() }, limit) },
    { owner },
  );
  return { parts: [producer, relay, answers, resend], consumer: answers };
}

async function buildHttp({ config, log, db, redis }: Base, api: AdminApiDeps): Promise<Part> {
  const { listen, max_body_size: bodyLimitBytes, socket_owner_uid: socketOwnerUid } = config.server.http;
  const { enabled, services, time_window_seconds: windowSeconds } = config.admin_internal_api;
  const nonces = new NonceStore(redis);
  const verify = { services: await loadKnownServices(services), nonces, clock: systemClock, windowSeconds };
  const internal = internalApi({ enabled, verify, db, tenants: tenantModel(db.sequelize), log });
  const app = createApp({ log }, [...adminApi(api), ...internal], { bodyLimitBytes });
  const server = new HttpServer({ name: 'http', listen, socketOwnerUid }, app);
  return part('http', () => nonces.open(systemClock.nowMs()).then(() => server.start()), () => server.stop()); // prettier-ignore
}

function buildOps({ config, log, metrics, db, redis, producer }: Base, consumer: KafkaConsumer | undefined): OpsServer {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  const dependencies: Dependency[] = [
    { name: 'mysql', required: true, check: () => db.select('SELECT 1') },
    { name: 'redis', required: true, check: () => redis.ping() },
  ];
  const kafka = (): Promise<void> =>
    producer?.isReachable === true ? Promise.resolve() : Promise.reject(new Error('the last send did not reach it'));
  if (producer !== undefined) dependencies.push({ name: 'kafka', required: false, check: kafka });
  const open = remember(() => countOpenCommands(db));
  metrics.watch('admin_commands_open', 'Orders that wait for a result.', [], async () => [{ value: await open() }]);
  const outbox = watchBacklog(metrics, 'outbox', new Map([['', () => new RelayStore(db, OUTBOX).backlog()]]));
  const lag = watchLag(metrics, consumer);
  const openNow = (): Promise<object> =>
    open().then(
      (open_commands) => ({ open_commands }),
      () => ({}),
    );
  const details = async (): Promise<object> => ({ ...(await openNow()), ...(await outbox()), ...lag() });
  return new OpsServer(
    { listen: config.ops.listen, service: SERVICE, version, configHash: config.config_hash },
    { dependencies, metrics, log, details },
  );
}

await main(process.argv[2] ?? '');
