/** Everything that im-core is told, joined from its rooms: `<home>/rendered/current/im-core.json`. */
import { boolean, integer, rendered, text } from '#shared/platform/config/setting.ts';
import type { ConfigOf } from '#shared/platform/config/setting.ts';
import { loadConfig } from '#shared/platform/config/load-config.ts';
import type { Rendered } from '#shared/platform/config/load-config.ts';
import { clientKeySection } from '#shared/platform/hmac/config.ts';
import { httpSection, opsSection } from '#shared/platform/http/config.ts';
import { idSection } from '#shared/platform/id/config.ts';
import { kafkaSection } from '#shared/platform/kafka/config.ts';
import { logSection } from '#shared/platform/log/config.ts';
import { mysqlSection } from '#shared/platform/mysql/config.ts';
import { redisSection } from '#shared/platform/redis/config.ts';
import { messageSection, tenantsSetting } from '#shared/tenant/config.ts';
import { rateLimitSection, taskPoolSection } from './commands/config.ts';
import { deliverSection } from './deliver/config.ts';
import { gatewaySection } from './gateway/config.ts';
import { internalApiSection } from './internal-api/config.ts';
import { authSection } from './public-api/config.ts';

const HOST_NAME = {
  // No address: the last label has a letter. The hello of TLS carries names alone, and by it the port knows for whom a connection is.
  pattern:
    /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*\.(?=[0-9-]*[a-z])[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
  description: 'a host name in small letters with at least one dot, no address',
};

/** The three names that share the public port. */
export const domainSection = {
  api: text('HTTPS for clients.', { default: 'api.localhost', form: HOST_NAME }),
  im: text('The message gateway; raw TLS.', { default: 'im.localhost', form: HOST_NAME }),
  admin: text('HTTPS for administrators.', { default: 'admin.localhost', form: HOST_NAME }),
};

export const imCoreSections = {
  log: logSection,
  ops: opsSection,
  mysql: mysqlSection,
  redis: redisSection,
  kafka: kafkaSection,
  tenants: tenantsSetting,
  control_database: rendered(text('im_control')),
  domain: domainSection,
  server: { http: httpSection, tcp: gatewaySection },
  id: idSection,
  taskpool: taskPoolSection,
  deliver: deliverSection,
  message: messageSection,
  rate_limit: rateLimitSection,
  auth: authSection,
  internal_api: internalApiSection,
  /** How im-core asks hotgo-admin-api. */
  admin_internal_api: {
    enabled: rendered(boolean('whether to ask')),
    base: rendered(text('unix:/path or http://host:port')),
    service_name: rendered(text('who we are there')),
    key: clientKeySection,
    timeout_ms: rendered(integer('how long to wait (ms)', { min: 1, max: 60_000 })),
  },
};

export type ImCoreConfig = ConfigOf<typeof imCoreSections> & Rendered;

/** @throws {ConfigError} */
export function loadImCoreConfig(path: string): Promise<ImCoreConfig> {
  return loadConfig(path, imCoreSections);
}
