import { outboxRelay } from '#shared/platform/events/outbox-relay.ts';
import type { OutboxRelayDeps, OutboxRelaySettings } from '#shared/platform/events/outbox-relay.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';

/** Sends the outbox of one tenant to Kafka; every row of it is signed by this process, whoever inserted it. @see OBX-08 */
export function tenantRelay(deps: OutboxRelayDeps, settings: Omit<OutboxRelaySettings, 'table'>): Part {
  return outboxRelay(deps, { ...settings, table: 'im_kafka_outbox' });
}
