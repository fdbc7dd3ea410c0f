import type { InRecord } from '../kafka/consumer.ts';
import type { Database } from '../mysql/database.ts';

/** Why nobody can be told about a record. */
export type QuarantineReason = 'UNREADABLE' | 'UNKNOWN_TENANT' | 'SIGNATURE_MISSING' | 'PRODUCER_NOT_ALLOWED' | 'SIGNATURE_INVALID';

const MAX_KEY_BYTES = 1_024;

/** Keeps records that belong to no tenant as they came, so that the partition can go on and nothing is thrown away. */
export class Quarantine {
  readonly #db: Database;
  readonly #table: string;
  readonly #group: string;

  /** @param table with the columns of im_kafka_quarantine */
  constructor(db: Database, table: string, group: string) {
    this.#db = db;
    this.#table = table;
    this.#group = group;
  }

  /** A redelivery changes nothing. */
  async keep(record: InRecord, reason: QuarantineReason, detail: string): Promise<void> {
    await this.#db.change(
      `INSERT INTO ${this.#table}
         (consumer_group, topic, partition_no, record_offset, reason, detail, record_key, record_value, record_headers, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NOW(3)) ON DUPLICATE KEY UPDATE id = id`,
      [
        this.#group,
        record.topic,
        record.partition,
        record.offset,
        reason,
        detail.slice(0, 500),
        record.key?.subarray(0, MAX_KEY_BYTES) ?? null,
        record.value,
        Buffer.from(JSON.stringify(Object.fromEntries(record.headers))),
      ],
    );
  }
}
