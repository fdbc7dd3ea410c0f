import { PRODUCERS } from '#shared/contract/producers.ts';
import { ConsumeLog } from '#shared/platform/events/consume-log.ts';
import { isOutage } from '#shared/platform/events/failure.ts';
import { Quarantine } from '#shared/platform/events/quarantine.ts';
import { receiver } from '#shared/platform/events/receive.ts';
import type { Inbox } from '#shared/platform/events/receive.ts';
import type { KafkaClient } from '#shared/platform/kafka/client.ts';
import { KafkaConsumer } from '#shared/platform/kafka/consumer.ts';
import type { RecordHandler } from '#shared/platform/kafka/consumer.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { auditEventInbox } from './audit-event.ts';
import { commandResultInbox } from './command-result.ts';

export interface TenantAnswersDeps {
  readonly kafka: KafkaClient;
  /** Signing keys by service. */
  readonly keys: ReadonlyMap<string, Buffer>;
  readonly db: Database;
  readonly tenants: readonly string[];
  readonly log: Log;
}

export interface TenantAnswersSettings {
  readonly retryBackoffMs: readonly number[];
  readonly maxRetryCount: number;
  /** In front of the topics; empty in production. */
  readonly prefix?: string;
}

const GROUP = 'hotgo-admin-api';

/** Hears what the tenants' side says about orders: results into the ledger, audit events into the audit log. @see KFK-23 */
export function tenantAnswers({ kafka, keys, db, tenants, log }: TenantAnswersDeps, settings: TenantAnswersSettings): KafkaConsumer {
  const { retryBackoffMs, maxRetryCount, prefix = '' } = settings;
  const groupId = `${prefix}${GROUP}`;
  const shared = {
    consumeLog: new ConsumeLog('admin_kafka_consume_log', groupId),
    quarantine: new Quarantine(db, 'admin_kafka_quarantine', groupId),
    databaseOf: (code: string) => (tenants.includes(code) ? db : undefined),
    log,
  };
  const handler = <T>(inbox: Inbox<T>): RecordHandler => receiver({ ...shared, inbox }, { maxRetryCount });
  const names = ['im.admin.command.result', 'im.audit.event'] as const;
  const handlers = new Map([
    [`${prefix}${names[0]}`, handler(commandResultInbox)],
    [`${prefix}${names[1]}`, handler(auditEventInbox)],
  ]);
  const producers = new Map(names.map((name) => [`${prefix}${name}`, PRODUCERS[name]]));
  return new KafkaConsumer(
    { kafka, trust: { keys, producers }, log, handle: async (record) => handlers.get(record.topic)?.(record), isOutage },
    { groupId, topics: [...handlers.keys()], retryBackoffMs },
  );
}
