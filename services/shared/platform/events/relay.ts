import { SendError } from '../kafka/errors.ts';
import type { OutRecord } from '../kafka/producer.ts';
import { backoff } from '../kafka/partition-retries.ts';
import type { Log } from '../log/log.ts';
import type { Drained } from './drain-loop.ts';
import type { Lease } from './lease.ts';
import type { FailedRow, OutboxRow, RelayStore } from './relay-store.ts';

/** What may be told about a row that was sent. */
export type SentRow = Pick<OutboxRow, 'topic' | 'orderKey' | 'traceId'>;

export interface RelayDeps {
  readonly store: RelayStore;
  readonly lease: Lease;
  /** @throws {SendError} */
  readonly send: (records: readonly OutRecord[]) => Promise<void>;
  readonly log: Log;
  /** Called with rows that the broker has taken. */
  readonly onSent?: (rows: readonly SentRow[]) => void;
}

export interface RelaySettings {
  /** Rows per round at most. */
  readonly batch: number;
  readonly retryBackoffMs: readonly number[];
}

/** Rows are read in chunks until they have so many bytes, and sent in slices that fit one record batch of the broker (1 MiB). */
const LIMITS = { chunkRows: 64, roundBytes: 4 * 1_048_576, sliceBytes: 700_000 } as const;
const OUTAGE_WAIT_MS = { first: 100, most: 2_000 } as const;

/**
 * Sends an outbox in the order of its ids: one awaited send in flight, then one mark.
 *
 * Per key nothing overtakes: a row that failed keeps the later rows of its key waiting (`failed` + next_retry_at), and nobody else's.
 * A crash between send and mark sends rows twice, and first arrivals keep their order all the same, because a row is only sent when
 * everything before it in its key was acknowledged. While the cluster is away nothing counts against a row.
 * @see OBX-09 @see OBX-11 @see OBX-12
 */
export class Relay {
  readonly #deps: RelayDeps;
  readonly #settings: RelaySettings;
  #outages = 0;

  constructor(deps: RelayDeps, settings: RelaySettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  async drain(): Promise<Drained> {
    const { store } = this.#deps;
    const failed = await store.failedRows();
    const { heldKeys, due, waitMs } = splitFailed(failed);
    const pending = await store.pendingIds(this.#settings.batch, heldKeys);
    const ids = [...due, ...pending].sort((left, right) => (left < right ? -1 : 1)).slice(0, this.#settings.batch);
    const rows = await this.#read(ids);
    for (const slice of slices(rows)) {
      if (!(await this.#sendSlice(slice))) return { hasMore: false, waitMs: this.#outageWait() };
    }
    return { hasMore: rows.length < ids.length || ids.length === this.#settings.batch, ...(waitMs === undefined ? {} : { waitMs }) };
  }

  async #read(ids: readonly bigint[]): Promise<readonly OutboxRow[]> {
    const rows: OutboxRow[] = [];
    for (let from = 0, bytes = 0; from < ids.length && bytes < LIMITS.roundBytes; from += LIMITS.chunkRows) {
      const chunk = await this.#deps.store.rows(ids.slice(from, from + LIMITS.chunkRows));
      bytes += chunk.reduce((sum, { value }) => sum + value.byteLength, 0);
      rows.push(...chunk);
    }
    return rows;
  }

  /** @returns false when the cluster is away */
  async #sendSlice(rows: readonly OutboxRow[]): Promise<boolean> {
    const { store, lease } = this.#deps;
    try {
      await this.#send(rows);
      this.#outages = 0;
      return true;
    } catch (error) {
      if (!(error instanceof SendError) || error.fault !== 'unreachable') throw error;
      this.#outages += 1;
      if (this.#outages === 1) this.#deps.log.warn({ lease: lease.name, error }, 'kafka is away, the outbox waits');
      await store.markUnreachable(lease, rows, { error: error.message, waitMs: this.#backoff(1) });
      return false;
    }
  }

  /**
   * All at once; when one of them is refused, key by key, and a key that is refused row by row up to its first failure.
   * @throws {SendError} only when the cluster is away; what was sent before is marked then
   */
  async #send(rows: readonly OutboxRow[]): Promise<void> {
    const { store, lease, send, onSent } = this.#deps;
    try {
      await send(rows.map(({ topic, orderKey, value, traceId }) => ({ topic, key: orderKey, value, traceId })));
    } catch (error) {
      if (!(error instanceof SendError) || error.fault === 'unreachable') throw error;
      await this.#isolate(rows, error);
      return;
    }
    await store.markSent(lease, rows);
    onSent?.(rows);
  }

  async #isolate(rows: readonly OutboxRow[], error: SendError): Promise<void> {
    const keys = [...Map.groupBy(rows, ({ orderKey }) => orderKey).values()];
    const [first] = rows;
    if (keys.length > 1) {
      for (const ofKey of keys) await this.#send(ofKey);
    } else if (rows.length > 1) {
      await this.#sendInOrder(rows);
    } else if (first !== undefined) {
      await this.#giveUp(first, error);
    }
  }

  async #sendInOrder(rows: readonly OutboxRow[]): Promise<void> {
    const { store, lease, send, onSent } = this.#deps;
    for (const row of rows) {
      try {
        await send([{ topic: row.topic, key: row.orderKey, value: row.value, traceId: row.traceId }]);
      } catch (error) {
        if (!(error instanceof SendError) || error.fault === 'unreachable') throw error;
        if ((await this.#giveUp(row, error)) === 'failed') return;
        continue;
      }
      await store.markSent(lease, [row]);
      onSent?.([row]);
    }
  }

  async #giveUp(row: OutboxRow, error: SendError): Promise<'dead' | 'failed'> {
    const { store, lease, log } = this.#deps;
    const status = error.fault === 'permanent' ? 'dead' : 'failed';
    log.error(
      { lease: lease.name, outbox_id: row.id.toString(), topic: row.topic, trace_id: row.traceId, status, error },
      'kafka refused an event',
    );
    if (status === 'dead') await store.markDead(lease, row, error.message);
    else await store.markFailed(lease, row, { error: error.message, waitMs: this.#backoff(row.retryCount + 1) });
    return status;
  }

  #backoff(attempt: number): number {
    return backoff(this.#settings.retryBackoffMs, attempt);
  }

  #outageWait(): number {
    return Math.min(OUTAGE_WAIT_MS.first * 2 ** Math.min(this.#outages, 10), OUTAGE_WAIT_MS.most);
  }
}

/** Keys that must wait, rows that are due, and when the next one will be. */
function splitFailed(failed: readonly FailedRow[]): { heldKeys: readonly string[]; due: readonly bigint[]; waitMs: number | undefined } {
  const waiting = failed.filter(({ waitMs }) => waitMs > 0);
  const held = new Set(waiting.map(({ orderKey }) => orderKey));
  return {
    heldKeys: [...held],
    due: failed.filter(({ orderKey }) => !held.has(orderKey)).map(({ id }) => id),
    waitMs: waiting.length === 0 ? undefined : Math.min(...waiting.map(({ waitMs }) => waitMs)) + 1,
  };
}

function* slices(rows: readonly OutboxRow[]): Generator<readonly OutboxRow[]> {
  let slice: OutboxRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (slice.length > 0 && bytes + row.value.byteLength > LIMITS.sliceBytes) {
      yield slice;
      slice = [];
      bytes = 0;
    }
    slice.push(row);
    bytes += row.value.byteLength;
  }
  if (slice.length > 0) yield slice;
}
