import { PRODUCERS } from '#shared/contract/producers.ts';
import { anyCommand, CommandInbox } from '#shared/platform/events/commands.ts';
import { ConsumeLog } from '#shared/platform/events/consume-log.ts';
import { isOutage } from '#shared/platform/events/failure.ts';
import { Operations } from '#shared/platform/events/operations.ts';
import { openOutbox } from '#shared/platform/events/outbox.ts';
import { Quarantine } from '#shared/platform/events/quarantine.ts';
import { receiver } from '#shared/platform/events/receive.ts';
import type { Wake } from '#shared/platform/events/wake.ts';
import type { KafkaClient } from '#shared/platform/kafka/client.ts';
import { KafkaConsumer } from '#shared/platform/kafka/consumer.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { GroupDepsOf } from './group-command.ts';
import { muteMemberCommand, unmuteMemberCommand } from './mute-member.ts';

export interface CommandConsumerDeps {
  readonly kafka: KafkaClient;
  /** Signing keys of the services that may send commands. */
  readonly keys: ReadonlyMap<string, Buffer>;
  readonly databaseOf: (tenantCode: string) => Database | undefined;
  /** im_control, for records that no tenant can be named for. */
  readonly control: Database;
  readonly groupDepsOf: GroupDepsOf;
  readonly wake: Wake;
  readonly log: Log;
}

export interface CommandConsumerSettings {
  readonly retryBackoffMs: readonly number[];
  readonly maxRetryCount: number;
  /** In front of topics and wake keys; empty in production. */
  readonly prefix?: { readonly topic: string; readonly key: string };
  readonly sessionTimeoutMs?: number;
}

/** Consumer group of every im-core process: each command goes to one of them. */
const GROUP = 'im-core';

/**
 * Executes the commands of the back office (`im.admin.command`) in the tenants' databases. Kafka away is no reason not to be ready: the
 * consumer joins when it comes.
 * @see CMD-05 @see KFK-24
 */
export function commandConsumer(deps: CommandConsumerDeps, settings: CommandConsumerSettings): KafkaConsumer {
  const { kafka, keys, databaseOf, control, groupDepsOf, wake, log } = deps;
  const { retryBackoffMs, maxRetryCount, prefix = { topic: '', key: '' }, sessionTimeoutMs } = settings;
  const topic = `${prefix.topic}im.admin.command`;
  const groupId = `${prefix.topic}${GROUP}`;
  const inbox = new CommandInbox({
    handlers: [anyCommand(muteMemberCommand(groupDepsOf)), anyCommand(unmuteMemberCommand(groupDepsOf))],
    operations: new Operations('im_kafka_operations'),
    outbox: openOutbox('im_kafka_outbox', wake, prefix.key),
    topic: (name) => `${prefix.topic}${name}`,
  });
  const handle = receiver(
    {
      inbox,
      consumeLog: new ConsumeLog('im_kafka_consume_log', groupId),
      quarantine: new Quarantine(control, 'im_kafka_quarantine', groupId),
      databaseOf,
      log,
    },
    { maxRetryCount },
  );
  return new KafkaConsumer(
    { kafka, trust: { keys, producers: new Map([[topic, PRODUCERS['im.admin.command']]]) }, log, handle, isOutage },
    { groupId, topics: [topic], retryBackoffMs, ...(sessionTimeoutMs === undefined ? {} : { sessionTimeoutMs }) },
  );
}
