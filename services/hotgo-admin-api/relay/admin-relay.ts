import { outboxRelay } from '#shared/platform/events/outbox-relay.ts';
import type { OutboxRelayDeps, OutboxRelaySettings } from '#shared/platform/events/outbox-relay.ts';
import { parseEnvelope } from '#shared/contract/envelope.ts';
import type { OutRecord } from '#shared/platform/kafka/producer.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';

export interface AdminRelayDeps extends OutboxRelayDeps {
  /** Told the event ids that Kafka has taken. */
  readonly onTaken: (eventIds: readonly string[]) => Promise<void>;
}

/** Sends the outbox of the back office and lets the ledger show that an order is on its way. @see OBX-04 @see OBX-05 */
export function adminRelay({ onTaken, ...deps }: AdminRelayDeps, settings: Omit<OutboxRelaySettings, 'table'>): Part {
  const send = async (records: readonly OutRecord[]): Promise<void> => {
    await deps.producer.send(records);
    // For people only: the result ends the order whether or not it was ever shown as running.
    await onTaken(records.flatMap(eventIdOf)).catch((error: unknown) => {
      deps.log.warn({ error: error instanceof Error ? error : new Error(String(error)) }, 'orders are not shown as running');
    });
  };
  return outboxRelay({ ...deps, producer: { send } }, { ...settings, table: 'admin_outbox' });
}

function eventIdOf({ value }: OutRecord): readonly string[] {
  const parsed = parseEnvelope(value);
  return parsed.kind === 'ok' ? [parsed.value.event_id] : [];
}
