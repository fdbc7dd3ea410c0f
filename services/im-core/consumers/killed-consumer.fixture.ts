/** A command consumer that is killed inside its transaction, or after the commit and before the offset. Run by mute-member.int.test.ts. */
import { noWake } from '#shared/platform/events/wake.ts';
import { openKafka } from '#shared/platform/kafka/client.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { MysqlLogin } from '#shared/platform/mysql/database.ts';
import { openDatabase } from '#shared/platform/mysql/mysql-database.ts';
import { commandConsumer } from './command-handler.ts';

interface Arguments {
  readonly moment: 'before-commit' | 'before-offset';
  readonly mysql: MysqlLogin;
  readonly tenant: string;
  readonly control: string;
  readonly brokers: readonly string[];
  readonly prefix: { readonly topic: string; readonly key: string };
  /** Hex. */
  readonly key: string;
}

const given = JSON.parse(process.argv[2] ?? '') as Arguments;
const db = openDatabase(given.mysql, given.tenant);
const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  for (;;);
};
const consumer = commandConsumer(
  {
    kafka: openKafka({ brokers: given.brokers, clientId: 'dying' }),
    keys: new Map([['hotgo-admin-api', Buffer.from(given.key, 'hex')]]),
    databaseOf: () => db,
    control: openDatabase(given.mysql, given.control),
    groupDepsOf: (tenant) => ({
      tenant,
      ids: { next: (above = 0n) => (given.moment === 'before-commit' ? die() : above + 1n) },
      enqueue: die,
      wakeNotices: () => undefined,
    }),
    wake: noWake,
    log: silentLog,
  },
  { retryBackoffMs: [100], maxRetryCount: 5, prefix: given.prefix, sessionTimeoutMs: 6_000 },
);
await consumer.start();
