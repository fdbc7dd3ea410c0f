/** im-core: the process that clients talk to. Everything is built here and nowhere else. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ulid } from 'ulid';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { readSecret } from '#shared/platform/config/secret.ts';
import { redisWake } from '#shared/platform/events/wake.ts';
import { loadKnownServices } from '#shared/platform/hmac/known-services.ts';
import { NonceStore } from '#shared/platform/hmac/nonce-store.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { HttpServer } from '#shared/platform/http/http-server.ts';
import { OpsServer } from '#shared/platform/http/ops-server.ts';
import type { Dependency } from '#shared/platform/http/ops-server.ts';
import { WorkerLease } from '#shared/platform/id/worker-lease.ts';
import { openKafka } from '#shared/platform/kafka/client.ts';
import type { KafkaConsumer } from '#shared/platform/kafka/consumer.ts';
import { watchLag } from '#shared/platform/kafka/watch-lag.ts';
import { part, patiently, runProcess } from '#shared/platform/lifecycle/run-process.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import { openLog } from '#shared/platform/log/log.ts';
import type { Log } from '#shared/platform/log/log.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { Database, MysqlLogin } from '#shared/platform/mysql/database.ts';
import { openDatabase } from '#shared/platform/mysql/mysql-database.ts';
import { closeRedis, connectRedis, openRedis } from '#shared/platform/redis/redis.ts';
import type { Redis, RedisLogin } from '#shared/platform/redis/redis.ts';
import { DeliverQueue } from '#shared/tenant/deliver/deliver-queue.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import { Epoch } from '#shared/tenant/deliver/epoch.ts';
import { ShardOwner } from '#shared/tenant/deliver/shard-owner.ts';
import { Keys } from '#shared/tenant/dialog/keys.ts';
import { syncEpoch } from '#shared/tenant/dialog/sync-inbox.ts';
import { MessageWriter, WRITER_LIMITS } from '#shared/tenant/message/message-writer.ts';
import type { WriterDeps, WriterLimits } from '#shared/tenant/message/message-writer.ts';
import { noticeWakeKey } from '#shared/tenant/notice/append-notice.ts';
import { bindDevice, refreshDevice, unbindDevice } from '#shared/tenant/presence/presence-store.ts';
import type { PresenceDeps } from '#shared/tenant/presence/presence-store.ts';
import { assertStanding, verifyAccessToken } from '#shared/tenant/user/authenticate.ts';
import { Auth } from './commands/auth.ts';
import { generateMsgId } from './commands/generate-msg-id.ts';
import { IssuedIds } from './commands/issued-ids.ts';
import { readMessage } from './commands/read-message.ts';
import { Router } from './commands/router.ts';
import { RateLimits } from './commands/rate-limits.ts';
import { sendMessage } from './commands/send-message.ts';
import { storeMetrics } from './commands/store-metrics.ts';
import { syncInbox, syncInboxFinish } from './commands/sync-inbox.ts';
import { syncMessages, syncMessagesFinish } from './commands/sync-messages.ts';
import { TaskPool } from './commands/task-pool.ts';
import type { TenantServices } from './commands/tenant-services.ts';
import { loadImCoreConfig } from './config.ts';
import type { ImCoreConfig } from './config.ts';
import { commandConsumer } from './consumers/command-handler.ts';
import { DeliverWorker } from './deliver/deliver-worker.ts';
import { deliverMetrics } from './deliver/hand-over.ts';
import { InboxReader } from './deliver/inbox-reader.ts';
import { watchQueue } from './deliver/queue-metrics.ts';
import { Sweeper } from './deliver/sweeper.ts';
import { TenantDelivery } from './deliver/tenant-delivery.ts';
import { Gateway } from './gateway/gateway.ts';
import { Sessions } from './gateway/sessions.ts';
import { gatewaySettings } from './gateway/settings.ts';
import { internalApi } from './internal-api/internal-api.ts';
import { publicApi } from './public-api/public-api.ts';
import { HttpLimits } from './public-api/rate-limits.ts';
import { openTenantDirectory } from './tenant-config/open-directory.ts';
import type { TenantDirectory } from './tenant-config/tenant-directory.ts';

/** What the rooms share. */
interface Base {
  readonly config: ImCoreConfig;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly mysql: MysqlLogin;
  readonly control: Database;
  readonly databases: ReadonlyMap<string, Database>;
  readonly redis: Redis;
  readonly redisLogin: RedisLogin;
  readonly epoch: Epoch;
  readonly lists: ReadonlyMap<string, DialogLists>;
  readonly lease: WorkerLease;
  readonly queue: DeliverQueue;
  readonly sessions: Sessions;
  readonly processId: string;
  readonly tokens: SignedTokens;
  /** Undefined where the back office is not asked. */
  readonly directory: TenantDirectory | undefined;
  readonly assertTenant: (tenant: string) => void;
}

/** Heartbeat that clients are asked for (ms). @see NET-14 */
const HEARTBEAT_MS = 30_000;
/** A blocking read on Redis is shorter than this (ms). */
const BLOCKING_TIMEOUT_MS = 70_000;

async function main(path: string): Promise<void> {
  const config = await loadImCoreConfig(path);
  const log = openLog('im-core', config.log.level);
  const base = await openBase(config, log);
  const consumer = await buildConsumer(base);
  const ops = buildOps(base, consumer);
  const gateway = await buildGateway(base);
  const waiting = openRedis(base.redisLogin, { commandTimeoutMs: BLOCKING_TIMEOUT_MS, log });
  const parts: Part[] = [
    ops,
    patiently(part('mysql', () => base.control.select('SELECT 1'), () => closeAll(base)), log), // prettier-ignore
    patiently(part('redis', () => connectRedis(base.redis), () => closeRedis(base.redis)), log), // prettier-ignore
    patiently(base.lease, log),
    ...(base.directory === undefined ? [] : [base.directory]),
    patiently(
      part('redis (waiting)', () => connectRedis(waiting)),
      log,
    ),
    ...buildDelivery(base, waiting),
    buildInbox(base),
    ...(consumer === undefined ? [] : [consumer]),
    ...gateway,
    await buildHttp(base),
  ];
  await runProcess(log, { parts, running: () => ops.running(), stopping: () => ops.stopping() });
}

async function openBase(config: ImCoreConfig, log: Log): Promise<Base> {
  const mysql = { address: config.mysql.address, user: config.mysql.user, password: await readSecret(config.mysql.password_file) };
  const redisLogin = { address: config.redis.address, user: config.redis.user, password: await readSecret(config.redis.password_file) };
  const open = (name: string, poolSize: number): Database => openDatabase(mysql, name, { poolSize });
  const control = open(config.control_database, 3);
  const databases = new Map(config.tenants.map(({ code, database }) => [code, open(database, config.mysql.pool_size)] as const));
  const redis = openRedis(redisLogin, { log });
  const epoch = new Epoch(redis);
  const processId = `im-core-${ulid().toLowerCase()}`;
  const range = { first: 0, last: 767, preferred: config.id.snowflake_worker_id };
  const lease = new WorkerLease({ control, clock: systemClock, log, owner: `${processId} pid ${String(process.pid)}`, range });
  const lists = new Map(config.tenants.map(({ code }) => [code, new DialogLists({ redis, epoch, keys: new Keys(code) })] as const));
  const key = Buffer.from(await readSecret(config.auth.token_key_file), 'base64url');
  const tokens = new SignedTokens({ key, audience: 'im-client', ttlMs: config.auth.access_ttl_ms, clock: systemClock });
  const metrics = new Metrics().collectProcess();
  const sessions = new Sessions();
  const directory = await openTenantDirectory({ redis, log, metrics }, config.admin_internal_api);
  directory?.on('closed', (tenant) => sendAway(sessions, tenant));
  const assertTenant = (tenant: string): void => directory?.assertActive(tenant);
  const shared = { config, log, metrics, mysql, control, databases, redis, redisLogin, epoch, lists, lease, processId, tokens };
  return { ...shared, queue: new DeliverQueue(redis), sessions, directory, assertTenant };
}

/** A tenant was closed. Whoever is let in at the same moment is seen by AUTH's second look. */
function sendAway(sessions: Sessions, tenant: string): void {
  for (const session of [...sessions.all()]) if (session.tenant === tenant) session.kick('TENANT_DISABLED');
}

async function closeAll({ control, databases }: Base): Promise<void> {
  await Promise.all([control, ...databases.values()].map((database) => database.close()));
}

function wakeNotices({ redis, databases, log }: Base): (tenant: string) => void {
  const wake = redisWake(redis, log);
  return (tenant) => {
    const database = databases.get(tenant);
    if (database !== undefined) wake(noticeWakeKey('', database.name));
  };
}

function buildTenants(base: Base, onBatch: WriterDeps['onBatch'] & {}): ReadonlyMap<string, TenantServices> {
  const { config, log, mysql, databases, lists, lease, queue } = base;
  const wake = wakeNotices(base);
  return new Map(
    config.tenants.map(({ code, database }) => {
      const [db, tenantLists] = [mustGet(databases, code), mustGet(lists, code)];
      const deps = { tenant: code, login: mysql, database, ids: lease.ids, clock: systemClock, log, onBatch };
      const limits = writerLimits(config.message.writers.find(({ tenant }) => tenant === code));
      const writer = new MessageWriter({ ...deps, proof: () => lease.proof, enqueue: (jobs) => queue.enqueue(jobs) }, limits);
      return [code, { db, writer, lists: tenantLists, wakeNotices: () => wake(code) }] as const;
    }),
  );
}

function writerLimits(own: ImCoreConfig['message']['writers'][number] | undefined): WriterLimits {
  return own === undefined ? WRITER_LIMITS : { ...WRITER_LIMITS, lanes: own.lanes, batchMessages: own.batch_messages };
}

async function buildGateway(base: Base): Promise<readonly Part[]> {
  const { config, log, metrics, sessions, lease, redis, processId, databases, tokens, assertTenant } = base;
  const { onBatch, onRepeat } = storeMetrics(metrics);
  const tenants = buildTenants(base, onBatch);
  const presence = (tenant: string): PresenceDeps => ({ redis, keys: new Keys(tenant), processId });
  const auth = new Auth({
    clock: systemClock,
    log,
    sessions,
    verifyAccessToken: (token) => verifyAccessToken({ tokens, databases, assertTenant }, token),
    recheck: (identity) => assertStanding({ databases, assertTenant }, identity),
    bindDevice: (session) => bindDevice(presence(session.tenant), session),
    unbindDevice: (session) => unbindDevice(presence(session.tenant), session),
    syncEpoch: (tenant) => syncEpoch(mustGet(databases, tenant)),
    heartbeatMs: HEARTBEAT_MS,
  });
  const pool = new TaskPool(config.taskpool, metrics);
  const issued = new IssuedIds(systemClock, config.message.msgid_expire_ms);
  const settings = gatewaySettings(config.server.tcp);
  const router = new Router({
    clock: systemClock,
    log,
    metrics,
    pool,
    auth,
    limits: new RateLimits(config.rate_limit),
    refreshDevice: (session) => refreshDevice(presence(session.tenant), session),
    maxBodyBytes: settings.maxBodyBytes,
    handlers: [
      generateMsgId({ ids: lease.ids, issued }),
      sendMessage({ tenants, issued, onRepeat, maxContentBytes: config.message.max_content_size }),
      readMessage({ tenants, log }),
      syncInbox({ tenants, limit: config.message.sync_limit, maxBodyBytes: settings.maxBodyBytes }),
      syncInboxFinish({ tenants }),
      syncMessages({ tenants, limit: config.message.sync_limit, maxBodyBytes: settings.maxBodyBytes }),
      syncMessagesFinish(),
    ],
  });
  const certificate = { cert: await readFile(config.server.tcp.cert_file), key: await readFile(config.server.tcp.key_file) };
  const gateway = new Gateway({
    settings,
    certificate,
    clock: systemClock,
    log,
    metrics,
    onFrame: router.onFrame,
    onClose: (connection) => {
      if (connection.session !== undefined) void auth.leave(connection.session);
    },
  });
  const writers = part('writers', () => Promise.resolve(), () => Promise.all([...tenants.values()].map(({ writer }) => writer.close()))); // prettier-ignore
  return [writers, part('task pool', () => Promise.resolve(), () => pool.idle()), gateway]; // prettier-ignore
}

/** The worker of the delivery queue and, for each tenant, the sweeper that finds what never came into it. */
function buildDelivery(base: Base, waiting: Redis): readonly Part[] {
  const { config, log, sessions, redis, processId, databases, lists, epoch, queue } = base;
  const metrics = deliverMetrics(base.metrics);
  const tenants = new Map(
    config.tenants.map(({ code }) => {
      const deps = { tenant: code, db: mustGet(databases, code), lists: mustGet(lists, code), epoch, metrics, log };
      return [code, new TenantDelivery({ ...deps, handOver: { sessions, redis, processId, base: '' } })] as const;
    }),
  );
  const owner = new ShardOwner(redis, epoch, processId);
  const worker = new DeliverWorker(
    { owner, redis, waiting, base: '', tenants, metrics, log },
    { workers: config.deliver.workers, takeTimeoutMs: config.deliver.take_timeout_ms },
  );
  const sweepers = config.tenants.map(({ code }) => {
    const deps = { tenant: code, db: mustGet(databases, code), lists: mustGet(lists, code), epoch, queue, owner, clock: systemClock, log };
    return new Sweeper(deps);
  });
  return [patiently(worker, log), ...sweepers];
}

function buildInbox({ sessions, redisLogin, processId, log }: Base): Part {
  const redis = openRedis(redisLogin, { commandTimeoutMs: BLOCKING_TIMEOUT_MS, log });
  const reader = new InboxReader({ sessions, redis, base: '', processId, log });
  return part('process inbox', () => connectRedis(redis).then(() => reader.start()), () => reader.stop()); // prettier-ignore
}

async function buildConsumer(base: Base): Promise<KafkaConsumer | undefined> {
  const { config, log, control, databases, lease, queue, redis } = base;
  if (!config.kafka.enabled) return undefined;
  const files = Object.entries(config.kafka.signing_keys);
  const keys = new Map(await Promise.all(files.map(async ([service, file]) => [service, Buffer.from(await readSecret(file))] as const)));
  const wake = wakeNotices(base);
  const enqueue = (jobs: readonly DeliverJob[]): void => {
    queue
      .enqueue(jobs)
      .catch((error: unknown) => log.warn({ error: error as Error }, 'jobs not queued; the next change brings them along'));
  };
  return commandConsumer(
    {
      kafka: openKafka({ brokers: config.kafka.brokers, clientId: base.processId, log }),
      keys,
      databaseOf: (tenant) => databases.get(tenant),
      control,
      groupDepsOf: (tenant) => ({ tenant, ids: lease.ids, enqueue, wakeNotices: () => wake(tenant) }),
      wake: redisWake(redis, log),
      log,
    },
    { retryBackoffMs: config.kafka.retry_backoff_ms, maxRetryCount: config.kafka.max_retry_count },
  );
}

async function buildHttp(base: Base): Promise<Part> {
  const { config, log, databases, tokens, assertTenant, redis, lease, queue } = base;
  const login = {
    tokens,
    databases,
    assertTenant,
    passwords: new Passwords(),
    pause: new LoginPause(redis, 'im:login:'),
    clock: systemClock,
    refreshTtlMs: config.auth.refresh_ttl_ms,
  };
  const api = publicApi({
    login,
    registration: config.auth.registration,
    limits: new HttpLimits(config.rate_limit),
    ids: lease.ids,
    log,
    enqueue: (jobs) => queue.enqueue(jobs),
    wakeNotices: wakeNotices(base),
  });
  const nonces = new NonceStore(redis);
  const services = await loadKnownServices(config.internal_api.services);
  const verify = { services, nonces, clock: systemClock, windowSeconds: config.internal_api.time_window_seconds };
  const internal = internalApi({ enabled: config.internal_api.enabled, verify, databases, log });
  const app = createApp({ log }, [...api, ...internal], { bodyLimitBytes: config.server.http.max_body_size });
  const { listen, socket_owner_uid: socketOwnerUid } = config.server.http;
  const server = new HttpServer({ name: 'http', listen, socketOwnerUid }, app);
  return part('http', () => nonces.open(systemClock.nowMs()).then(() => server.start()), () => server.stop()); // prettier-ignore
}

function buildOps(
  { config, log, metrics, control, redis, lease, sessions, directory, processId }: Base,
  consumer: KafkaConsumer | undefined,
): OpsServer {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  const dependencies: Dependency[] = [
    { name: 'mysql', required: true, check: () => control.select('SELECT 1') },
    { name: 'redis', required: true, check: () => redis.ping() },
    { name: 'ids', required: true, check: () => Promise.resolve().then(() => lease.ids.next()) },
  ];
  const kafka = (): Promise<void> =>
    consumer?.healthy() === true ? Promise.resolve() : Promise.reject(new Error('no broker was heard lately'));
  const backOffice = (): Promise<void> =>
    directory?.isFresh === true ? Promise.resolve() : Promise.reject(new Error('the last question got no answer'));
  if (directory !== undefined) dependencies.push({ name: 'hotgo-admin-api', required: false, check: backOffice });
  if (consumer !== undefined) dependencies.push({ name: 'kafka', required: false, check: kafka });
  const queue = watchQueue(metrics, redis, processId);
  const lag = watchLag(metrics, consumer);
  const details = async (): Promise<Record<string, number>> => ({ sessions: [...sessions.all()].length, ...(await queue()), ...lag() });
  return new OpsServer(
    { listen: config.ops.listen, service: 'im-core', version, configHash: config.config_hash },
    { dependencies, metrics, log, details },
  );
}

function mustGet<T>(map: ReadonlyMap<string, T>, tenant: string): T {
  const found = map.get(tenant);
  if (found === undefined) throw new Error(`nothing was built for tenant ${tenant}`);
  return found;
}

await main(process.argv[2] ?? '');
