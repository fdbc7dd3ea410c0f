import type { Database, Params } from '../mysql/database.ts';
import { OUTBOX_SHARDS } from './outbox.ts';
import type { Lease } from './lease.ts';
import { LeaseLost } from './lease.ts';

export interface OutboxRow {
  readonly id: bigint;
  readonly topic: string;
  readonly orderKey: string;
  readonly value: Buffer;
  readonly traceId: string;
  readonly retryCount: number;
}

/** Rows that could not be sent; each holds back the later rows of its key. */
export interface FailedRow {
  readonly id: bigint;
  readonly orderKey: string;
  /** Until it may be tried again; 0 = now. */
  readonly waitMs: number;
}

/** What waits in a table of work. */
export interface Backlog {
  readonly rows: number;
  /** Age of the oldest; 0 when nothing waits. */
  readonly oldestSeconds: number;
}

/** In `last_error` of rows that failed because the cluster was away: they are due as soon as it is back. */
const UNREACHABLE = 'unreachable: ';

const SHARDS = Array.from({ length: OUTBOX_SHARDS }, (_, shard) => shard);
const MAX_ERROR = 500;

/** Statements of one outbox. Reads are plain: the lease keeps other relays away, and locks would make producers wait. */
export class RelayStore {
  readonly #db: Database;
  readonly #table: string;

  constructor(db: Database, table: string) {
    this.#db = db;
    this.#table = table;
  }

  async failedRows(): Promise<readonly FailedRow[]> {
    const rows = await this.#db.select<{ id: string; order_key: Buffer; wait_ms: string | number; last_error: string }>(
      `SELECT id, order_key, last_error, TIMESTAMPDIFF(MICROSECOND, NOW(3), next_retry_at) DIV 1000 AS wait_ms
         FROM ${this.#table} FORCE INDEX (k_claim) WHERE shard IN (?) AND status = 'failed'`,
      [SHARDS],
    );
    return rows.map(({ id, order_key, wait_ms, last_error }) => ({
      id: BigInt(id),
      orderKey: order_key.toString(),
      waitMs: last_error.startsWith(UNREACHABLE) ? 0 : Math.max(Number(wait_ms), 0),
    }));
  }

  // One short walk of (shard, status, id) per shard. One range over all shards would sort the whole backlog for every batch, and
  // without FORCE INDEX a backlog makes MySQL walk the primary key through everything that was sent.
  async pendingIds(limit: number, heldKeys: readonly string[]): Promise<readonly bigint[]> {
    const notHeld = heldKeys.length === 0 ? '' : 'AND order_key NOT IN (?)';
    const walk = `(SELECT id FROM ${this.#table} FORCE INDEX (k_claim) WHERE shard = ? AND status = 'pending' ${notHeld} ORDER BY id LIMIT ?)`;
    const params: Params = SHARDS.flatMap((shard) => (heldKeys.length === 0 ? [shard, limit] : [shard, heldKeys, limit]));
    const rows = await this.#db.select<{ id: string }>(SHARDS.map(() => walk).join(' UNION ALL '), params);
    return rows.map(({ id }) => BigInt(id));
  }

  /** What still has to be sent. Each shard's first row is found by its index, so a long backlog costs only the count. */
  async backlog(): Promise<Backlog> {
    const first = `(SELECT id FROM ${this.#table} FORCE INDEX (k_claim) WHERE shard = ? AND status = ? ORDER BY id LIMIT 1)`;
    const places = SHARDS.flatMap((shard) => [shard, 'pending', shard, 'failed']);
    const [row] = await this.#db.select<{ waiting: string; seconds: string | null }>(
      `SELECT (SELECT COUNT(*) FROM ${this.#table} FORCE INDEX (k_claim) WHERE shard IN (?) AND status IN ('pending', 'failed')) AS waiting,
              (SELECT TIMESTAMPDIFF(SECOND, MIN(created_at), NOW(3)) FROM ${this.#table}
                WHERE id IN (SELECT id FROM (${SHARDS.map(() => `${first} UNION ALL ${first}`).join(' UNION ALL ')}) AS firsts)) AS seconds`,
      [SHARDS, ...places],
    );
    return { rows: Number(row?.waiting ?? 0), oldestSeconds: Math.max(Number(row?.seconds ?? 0), 0) };
  }

  /** In the order of ids. */
  async rows(ids: readonly bigint[]): Promise<readonly OutboxRow[]> {
    const rows = await this.#db.select<{
      id: string;
      topic: Buffer;
      order_key: Buffer;
      envelope: Buffer;
      trace_id: Buffer;
      retry_count: number;
    }>(`SELECT id, topic, order_key, envelope, trace_id, retry_count FROM ${this.#table} WHERE id IN (?) ORDER BY id`, [ids]);
    return rows.map((row) => ({
      id: BigInt(row.id),
      topic: row.topic.toString(),
      orderKey: row.order_key.toString(),
      value: row.envelope,
      traceId: row.trace_id.toString(),
      retryCount: row.retry_count,
    }));
  }

  /** @throws {LeaseLost} when nothing was marked: another relay has taken over and will send these rows itself */
  async markSent(lease: Lease, rows: readonly OutboxRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { rows: marked } = await this.#db.change(
      `UPDATE ${this.#table} o ${lease.isOurs} SET o.status = 'sent', o.sent_at = NOW(3), o.last_error = ''
        WHERE o.id IN (?) AND o.status IN ('pending', 'failed')`,
      [...lease.key, rows.map(({ id }) => id)],
    );
    if (marked === 0) throw new LeaseLost(`the lease ${lease.name} was lost before ${rows.length} rows were marked`);
  }

  /** The cluster is away: nothing counts against the rows, they are due when it is back. Rows that already wait stay as they are. */
  async markUnreachable(lease: Lease, rows: readonly OutboxRow[], { error, waitMs }: { error: string; waitMs: number }): Promise<void> {
    await this.#db.change(
      `UPDATE ${this.#table} o ${lease.isOurs}
          SET o.status = 'failed', o.retry_count = o.retry_count + 1, o.last_error = ?, o.next_retry_at = NOW(3) + INTERVAL ? MICROSECOND
        WHERE o.id IN (?) AND o.status = 'pending'`,
      [...lease.key, (UNREACHABLE + error).slice(0, MAX_ERROR), waitMs * 1_000, rows.map(({ id }) => id)],
    );
  }

  async markFailed(lease: Lease, row: OutboxRow, { error, waitMs }: { error: string; waitMs: number }): Promise<void> {
    await this.#markOne(lease, row, { status: 'failed', error, waitMs });
  }

  /** The broker will never take it. Its key is free again; operators see the row. */
  async markDead(lease: Lease, row: OutboxRow, error: string): Promise<void> {
    await this.#markOne(lease, row, { status: 'dead', error, waitMs: 0 });
  }

  async #markOne(
    lease: Lease,
    row: OutboxRow,
    { status, error, waitMs }: { status: string; error: string; waitMs: number },
  ): Promise<void> {
    const { rows } = await this.#db.change(
      `UPDATE ${this.#table} o ${lease.isOurs}
          SET o.status = ?, o.retry_count = o.retry_count + 1, o.last_error = ?, o.next_retry_at = NOW(3) + INTERVAL ? MICROSECOND
        WHERE o.id = ? AND o.status IN ('pending', 'failed')`,
      [...lease.key, status, error.slice(0, MAX_ERROR), waitMs * 1_000, row.id],
    );
    if (rows === 0) throw new LeaseLost(`the lease ${lease.name} was lost before row ${row.id.toString()} was marked`);
  }
}
