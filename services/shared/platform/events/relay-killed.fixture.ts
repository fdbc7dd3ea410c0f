/** A relay process that is killed after Kafka took a batch and before the rows are marked. Run by relay.int.test.ts. */
import { openKafka } from '../kafka/client.ts';
import { KafkaProducer } from '../kafka/producer.ts';
import { silentLog } from '../log/log.ts';
import type { MysqlLogin } from '../mysql/database.ts';
import { openDatabase } from '../mysql/mysql-database.ts';
import { outboxRelay } from './outbox-relay.ts';

interface Arguments {
  readonly mysql: MysqlLogin;
  readonly database: string;
  readonly leaseDatabase: string;
  readonly brokers: readonly string[];
  readonly batch: number;
}

const { mysql, database, leaseDatabase, brokers, batch } = JSON.parse(process.argv[2] ?? '') as Arguments;
const producer = new KafkaProducer(openKafka({ brokers, clientId: 'dying' }), { service: 'writer', key: Buffer.from('k') });
const relay = outboxRelay(
  {
    db: openDatabase(mysql, database),
    log: silentLog,
    producer: {
      send: async (records) => {
        await producer.send(records);
        process.kill(process.pid, 'SIGKILL');
        await new Promise(() => undefined);
      },
    },
  },
  { table: 'im_kafka_outbox', leaseDatabase, owner: 'dying', batch, pollMs: 50, retryBackoffMs: [100], leaseTtlMs: 1_000 },
);
await relay.start();
