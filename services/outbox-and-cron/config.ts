/** Everything that outbox-and-cron is told, joined from its rooms: `<home>/rendered/current/outbox-and-cron.json`. */
import { rendered, text } from '#shared/platform/config/setting.ts';
import type { ConfigOf } from '#shared/platform/config/setting.ts';
import { loadConfig } from '#shared/platform/config/load-config.ts';
import type { Rendered } from '#shared/platform/config/load-config.ts';
import { relaySection } from '#shared/platform/events/config.ts';
import { opsSection } from '#shared/platform/http/config.ts';
import { backgroundIdSection } from '#shared/platform/id/config.ts';
import { kafkaSection } from '#shared/platform/kafka/config.ts';
import { logSection } from '#shared/platform/log/config.ts';
import { mysqlSection } from '#shared/platform/mysql/config.ts';
import { redisSection } from '#shared/platform/redis/config.ts';
import { deliverSection, messageSection, tenantsSetting } from '#shared/tenant/config.ts';
import { cronSection } from './cron/config.ts';

export const outboxAndCronSections = {
  log: logSection,
  ops: opsSection,
  mysql: mysqlSection,
  redis: redisSection,
  kafka: kafkaSection,
  tenants: tenantsSetting,
  control_database: rendered(text('im_control')),
  id: backgroundIdSection,
  relay: relaySection,
  cron: cronSection,
  message: messageSection,
  deliver: deliverSection,
};

export type OutboxAndCronConfig = ConfigOf<typeof outboxAndCronSections> & Rendered;

/** @throws {ConfigError} */
export function loadOutboxAndCronConfig(path: string): Promise<OutboxAndCronConfig> {
  return loadConfig(path, outboxAndCronSections);
}
