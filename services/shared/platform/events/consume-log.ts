import type { Database, Tx } from '../mysql/database.ts';

/** Where a record lay; a redelivery has the same place, a second sending of the same event another. */
export interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

export interface ConsumedEvent extends RecordPlace {
  readonly eventId: string;
  /** The record's key, whose bytes are anybody's; what the column does not hold is cut off. */
  readonly orderKey: Buffer;
}

/** A row of the log: `succeeded` and `dead` are final, `failed` is between two attempts. */
export type ConsumeStatus = 'processing' | 'succeeded' | 'failed' | 'dead';

export interface SeenEvent {
  readonly status: 'succeeded' | 'dead';
  /** Kafka delivered the very same record again, so nobody is asking anew. */
  readonly isRedelivery: boolean;
  readonly lastError: string;
}

const MAX_ERROR = 500;

/** The log of one consumer group in one database: what makes "executed once" true (IDM-01, IDM-03). */
export class ConsumeLog {
  readonly #table: string;
  readonly #group: string;

  /** @param table with the columns of im_kafka_consume_log */
  constructor(table: string, group: string) {
    this.#table = table;
    this.#group = group;
  }

  /**
   * Claims the event for this transaction; a concurrent claim waits here for our end.
   * @returns what became of it when it is finished already, else undefined
   */
  async claim(tx: Tx, { eventId, topic, partition, offset, orderKey }: ConsumedEvent): Promise<SeenEvent | undefined> {
    const { rows } = await tx.change(
      `INSERT INTO ${this.#table} (consumer_group, event_id, topic, partition_no, record_offset, order_key, status, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, 'processing', NOW(3), NOW(3)) ON DUPLICATE KEY UPDATE event_id = VALUES(event_id)`,
      [this.#group, eventId, topic, partition, offset, orderKey],
    );
    if (rows === 1) return undefined;
    const [row] = await tx.select<{
      status: ConsumeStatus;
      topic: Buffer;
      partition_no: number;
      record_offset: string;
      last_error: string;
    }>(
      `SELECT status, topic, partition_no, record_offset, last_error FROM ${this.#table} WHERE consumer_group = ? AND event_id = ? FOR UPDATE`,
      [this.#group, eventId],
    );
    if (row === undefined || row.status === 'processing' || row.status === 'failed') return undefined;
    const isRedelivery = row.topic.toString() === topic && row.partition_no === partition && BigInt(row.record_offset) === offset;
    return { status: row.status, isRedelivery, lastError: row.last_error };
  }

  /** Commits with the effect (IDM-13). */
  async finish(tx: Tx, eventId: string, { status, error = '' }: { status: 'succeeded' | 'dead'; error?: string }): Promise<void> {
    await tx.change(`UPDATE ${this.#table} SET status = ?, last_error = ?, updated_at = NOW(3) WHERE consumer_group = ? AND event_id = ?`, [
      status,
      error.slice(0, MAX_ERROR),
      this.#group,
      eventId,
    ]);
  }

  /**
   * Notes a failed attempt, in a transaction of its own since the other one is gone. Never touches a final row.
   * @returns attempts that failed so far
   */
  async noteFailure(db: Database, { eventId, topic, partition, offset, orderKey }: ConsumedEvent, error: string): Promise<number> {
    await db.change(
      `INSERT INTO ${this.#table}
         (consumer_group, event_id, topic, partition_no, record_offset, order_key, status, retry_count, last_error, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, 'failed', 1, ?, NOW(3), NOW(3))
       ON DUPLICATE KEY UPDATE
         retry_count = retry_count + (status IN ('processing', 'failed')),
         last_error = IF(status IN ('processing', 'failed'), VALUES(last_error), last_error),
         updated_at = IF(status IN ('processing', 'failed'), NOW(3), updated_at),
         status = IF(status = 'processing', 'failed', status)`,
      [this.#group, eventId, topic, partition, offset, orderKey, error.slice(0, MAX_ERROR)],
    );
    const [row] = await db.select<{ retry_count: number }>(
      `SELECT retry_count FROM ${this.#table} WHERE consumer_group = ? AND event_id = ?`,
      [this.#group, eventId],
    );
    return row?.retry_count ?? 1;
  }
}
