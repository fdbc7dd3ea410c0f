import type { KafkaProducer } from '../kafka/producer.ts';
import type { Part } from '../lifecycle/lifecycle.ts';
import type { Log } from '../log/log.ts';
import type { Database } from '../mysql/database.ts';
import type { RedisLogin } from '../redis/redis.ts';
import { DrainLoop } from './drain-loop.ts';
import { Lease } from './lease.ts';
import { outboxWakeKey } from './outbox.ts';
import { RelayStore } from './relay-store.ts';
import { Relay } from './relay.ts';
import type { SentRow } from './relay.ts';
import { WakeListener } from './wake.ts';

export interface OutboxRelayDeps {
  readonly db: Database;
  readonly producer: Pick<KafkaProducer, 'send'>;
  readonly log: Log;
  /** Where wake-ups come from; without it only the poll. */
  readonly redis?: RedisLogin;
  /** Told the rows that Kafka has taken. */
  readonly onSent?: (rows: readonly SentRow[]) => void;
}

export interface OutboxRelaySettings {
  readonly table: string;
  /** Database with t_leases, on the same server. */
  readonly leaseDatabase: string;
  /** Host and process, for people. */
  readonly owner: string;
  readonly batch: number;
  readonly pollMs: number;
  readonly retryBackoffMs: readonly number[];
  readonly leaseTtlMs?: number;
  /** In front of the wake list's key. Default ''. */
  readonly keyPrefix?: string;
}

/** The relay of one database: outbox -> Kafka, by one process at a time. */
export function outboxRelay({ db, producer, log, redis, onSent }: OutboxRelayDeps, settings: OutboxRelaySettings): Part {
  const { table, leaseDatabase, owner, batch, pollMs, retryBackoffMs, leaseTtlMs, keyPrefix } = settings;
  const name = `relay:${db.name}`;
  const lease = new Lease({ db, database: leaseDatabase }, { name, owner, ...(leaseTtlMs === undefined ? {} : { ttlMs: leaseTtlMs }) });
  const relay = new Relay(
    {
      store: new RelayStore(db, table),
      lease,
      log,
      send: (records) => producer.send(records),
      ...(onSent === undefined ? {} : { onSent }),
    },
    { batch, retryBackoffMs },
  );
  const wake = new WakeListener(redis, outboxWakeKey(db.name, keyPrefix));
  return new DrainLoop({ lease, wake, log, drain: () => relay.drain() }, { name, pollMs });
}
