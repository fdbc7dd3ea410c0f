/** Everything that hotgo-admin-api is told, joined from its rooms: `<home>/rendered/current/hotgo-admin-api.json`. */
import { integer, list, rendered, text } from '#shared/platform/config/setting.ts';
import type { ConfigOf } from '#shared/platform/config/setting.ts';
import { loadConfig } from '#shared/platform/config/load-config.ts';
import type { Rendered } from '#shared/platform/config/load-config.ts';
import { relaySection } from '#shared/platform/events/config.ts';
import { clientKeySection } from '#shared/platform/hmac/config.ts';
import { httpSection, opsSection } from '#shared/platform/http/config.ts';
import { kafkaSection } from '#shared/platform/kafka/config.ts';
import { logSection } from '#shared/platform/log/config.ts';
import { mysqlSection } from '#shared/platform/mysql/config.ts';
import { redisSection } from '#shared/platform/redis/config.ts';
import { adminSection } from './admin-api/config.ts';
import { adminInternalApiSection } from './internal-api/config.ts';

export const hotgoAdminApiSections = {
  log: logSection,
  ops: opsSection,
  mysql: { ...mysqlSection, database: rendered(text('hotgo')) },
  redis: redisSection,
  kafka: kafkaSection,
  /** Codes that commands may name; the tenants' databases are out of reach here. */
  tenants: rendered(list('tenants', { code: text('code') })),
  server: { http: httpSection },
  admin: adminSection,
  relay: relaySection,
  admin_internal_api: adminInternalApiSection,
  /** How hotgo-admin-api asks im-core. */
  im_core: {
    base: rendered(text('unix:/path or http://host:port')),
    service_name: rendered(text('who we are there')),
    key: clientKeySection,
    timeout_ms: rendered(integer('how long to wait (ms)', { default: 3_000, min: 1, max: 60_000 })),
  },
};

export type HotgoAdminApiConfig = ConfigOf<typeof hotgoAdminApiSections> & Rendered;

/** @throws {ConfigError} */
export function loadHotgoAdminApiConfig(path: string): Promise<HotgoAdminApiConfig> {
  return loadConfig(path, hotgoAdminApiSections);
}
