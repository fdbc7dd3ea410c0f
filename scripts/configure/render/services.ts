/** The rendered files of the three services and of migrate. */
import type { ConfigOf, Section } from '#shared/platform/config/setting.ts';
import type { hotgoAdminApiSections } from '../../../services/hotgo-admin-api/config.ts';
import type { imCoreSections } from '../../../services/im-core/config.ts';
import type { outboxAndCronSections } from '../../../services/outbox-and-cron/config.ts';
import { TOPICS } from '#shared/contract/topics.ts';
import { PRODUCERS } from '#shared/contract/producers.ts';
import type { MigrateConfig } from '../../migrate/config.ts';
import type { Certificates } from '../ensure-certificates.ts';
import type { Layout } from '../layout.ts';
import type { Settings } from '../schema.ts';
import type { Secrets } from '../secrets.ts';
import { signingKey } from '../secrets.ts';

export interface RenderInput {
  readonly settings: Settings;
  readonly layout: Layout;
  readonly secrets: Secrets;
  readonly certificates: Certificates;
}

/** What is left to the defaults of a room is not written. */
type Partly<S extends Section> = { readonly [Name in keyof ConfigOf<S>]: DeepPartial<ConfigOf<S>[Name]> };
type DeepPartial<T> = T extends readonly unknown[] ? T : T extends object ? { readonly [K in keyof T]?: DeepPartial<T[K]> } : T;

const DATABASES = { control: 'im_control', hotgo: 'hotgo' } as const;
const DAY_MS = 86_400_000;
/** Topics whose records somebody may still ask for after weeks. */
const LONG_KEPT: readonly string[] = ['im.admin.command.result', 'im.audit.event', 'im.dead.letter'];

export function imCore({ settings, layout, secrets, certificates }: RenderInput): Partly<typeof imCoreSections> {
  const { domain, server, id, taskpool, deliver, message, rate_limit, auth, internal_api, admin_internal_api } = settings;
  const { id: keyId, secret_file } = signingKey(secrets.adminInternalApi, admin_internal_api.service_name);
  return {
    ...common('im_core', { settings, layout, secrets }),
    ops: { listen: layout.coreOps },
    tenants: tenants(settings),
    control_database: DATABASES.control,
    domain,
    server: {
      http: { ...server.http, listen: layout.coreHttp.listen, socket_owner_uid: layout.nginx.workerUid },
      tcp: {
        ...server.tcp,
        listen: layout.coreTls.listen,
        socket_owner_uid: layout.nginx.workerUid,
        proxy_from: layout.proxyFrom,
        cert_file: certificates.files.im.certFile,
        key_file: certificates.files.im.keyFile,
      },
    },
    id,
    taskpool,
    deliver,
    message,
    rate_limit,
    auth: { ...auth, token_key_file: secrets.file('auth/token_key') },
    internal_api: {
      enabled: internal_api.enabled,
      time_window_seconds: internal_api.time_window_seconds,
      services: secrets.internalApi,
    },
    admin_internal_api: {
      enabled: admin_internal_api.enabled,
      base: httpBase(layout.hotgoHttp.address),
      service_name: admin_internal_api.service_name,
      key: { id: keyId, secret_file },
      timeout_ms: admin_internal_api.timeout_ms,
    },
  };
}

export function outboxAndCron({ settings, layout, secrets }: RenderInput): Partly<typeof outboxAndCronSections> {
  return {
    ...common('im_worker', { settings, layout, secrets }),
    ops: { listen: layout.outboxOps },
    tenants: tenants(settings),
    control_database: DATABASES.control,
    id: { snowflake_worker_id: 768 + (settings.id.snowflake_worker_id % 128) },
    relay: {},
    cron: {},
    message: settings.message,
    deliver: settings.deliver,
  };
}

export function hotgoAdminApi({ settings, layout, secrets }: RenderInput): Partly<typeof hotgoAdminApiSections> {
  const { admin, admin_internal_api, server } = settings;
  const { id, secret_file } = signingKey(secrets.internalApi, 'hotgo-admin');
  const shared = common('hotgo_admin', { settings, layout, secrets });
  return {
    ...shared,
    mysql: { ...shared.mysql, database: DATABASES.hotgo },
    ops: { listen: layout.hotgoOps },
    tenants: settings.tenants.map(({ code }) => ({ code })),
    server: { http: { ...server.http, listen: layout.hotgoHttp.listen, socket_owner_uid: layout.nginx.workerUid } },
    admin: {
      first_admin: { ...admin.first_admin, password_file: secrets.file('admin/first_password') },
      access_ttl_ms: admin.access_ttl_ms,
      token_key_file: secrets.file('admin/token_key'),
    },
    relay: {},
    admin_internal_api: {
      enabled: admin_internal_api.enabled,
      time_window_seconds: admin_internal_api.time_window_seconds,
      services: secrets.adminInternalApi,
    },
    im_core: { base: httpBase(layout.coreHttp.address), service_name: 'hotgo-admin', key: { id, secret_file } },
  };
}

export function migrate({ settings, layout, secrets }: RenderInput): MigrateConfig {
  return {
    mysql: { address: layout.mysql.address, user: 'migrate', password_file: secrets.file('mysql/migrate') },
    control_database: DATABASES.control,
    hotgo_database: DATABASES.hotgo,
    tenants: tenants(settings),
    service_users: (['im_core', 'im_worker', 'hotgo_admin'] as const).map((name) => ({
      name,
      password_file: secrets.file(`mysql/${name}`),
    })),
    kafka: { enabled: settings.kafka.enabled, brokers: [broker(layout)], topics: topics(settings) },
  };
}

type CommonInput = Pick<RenderInput, 'settings' | 'layout' | 'secrets'>;

/** One login per service; every service may check every producer, because it may hear it. */
function common(user: string, { settings, layout, secrets }: CommonInput) {
  const signers = [...new Set(['im-core', ...Object.values(PRODUCERS).flat()])].sort();
  const { enabled, retry_backoff_ms, max_retry_count } = settings.kafka;
  return {
    log: settings.log,
    mysql: { address: layout.mysql.address, user, password_file: secrets.file(`mysql/${user}`) },
    redis: { address: layout.redis.address, user, password_file: secrets.file(`redis/${user}`) },
    kafka: {
      enabled,
      brokers: [broker(layout)],
      signing_keys: Object.fromEntries(signers.map((service) => [service, secrets.file(`kafka/${service}`)])),
      topics: topics(settings),
      retry_backoff_ms,
      max_retry_count,
    },
  };
}

/** The product's topics, with what the operator said about them, and further ones that he named. */
function topics({ kafka }: Settings): Settings['kafka']['topics'] {
  const authored = new Map(kafka.topics.map((topic) => [topic.name, topic]));
  const shipped = TOPICS.map((name) => ({ name, partitions: 4, retention_ms: (LONG_KEPT.includes(name) ? 30 : 7) * DAY_MS }));
  const own = shipped.map((topic) => authored.get(topic.name) ?? topic);
  const further = kafka.topics.filter(({ name }) => !shipped.some((topic) => topic.name === name));
  return [...own, ...further];
}

function tenants(settings: Settings): readonly { code: string; database: string }[] {
  return settings.tenants.map(({ code }) => ({ code, database: `im_${code}` }));
}

/** An address as a base for HTTP: a socket stays as it is. */
function httpBase(address: string): string {
  return address.startsWith('unix:') ? address : `http://${address}`;
}

function broker({ kafka: { advertised, port } }: Layout): string {
  return `${advertised}:${port}`;
}
