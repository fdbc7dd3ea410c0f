import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock/clock.ts';
import type { Part } from '../lifecycle/lifecycle.ts';
import type { Log } from '../log/log.ts';
import type { Database, Tx } from '../mysql/database.ts';
import { Snowflake } from './snowflake.ts';

/** Worker ids of one kind of process, both ends included; the configured id is where the search starts. */
export interface WorkerRange {
  readonly first: number;
  readonly last: number;
  readonly preferred: number;
}

export interface WorkerLeaseDeps {
  readonly control: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** For people who look at the table: service, host, process. */
  readonly owner: string;
  readonly range: WorkerRange;
}

/** What a lease is good for without renewal (s). */
const LEASE_SECONDS = 30;
/** How often it is renewed (ms), and how far ahead of use time is reserved (ms). */
const RENEW_MS = 1_000;
const RESERVE_MS = 3_000;

const LIST =
  'SELECT worker_id, expires_at <= NOW(3) AS is_free FROM t_worker_ids WHERE worker_id BETWEEN ? AND ? ORDER BY worker_id FOR UPDATE';
// A row that somebody inserted since the list was read is left to him. MySQL assigns in the order written, so the time comes last.
const TAKE = `
  INSERT INTO t_worker_ids (worker_id, owner, token, expires_at, reserved_until)
  VALUES (?, ?, ?, NOW(3) + INTERVAL ${String(LEASE_SECONDS)} SECOND, 0) AS n
  ON DUPLICATE KEY UPDATE owner = IF(t_worker_ids.expires_at <= NOW(3), n.owner, t_worker_ids.owner),
                          token = IF(t_worker_ids.expires_at <= NOW(3), n.token, t_worker_ids.token),
                          expires_at = IF(t_worker_ids.expires_at <= NOW(3), n.expires_at, t_worker_ids.expires_at)`;
const READ_RESERVATION = 'SELECT reserved_until FROM t_worker_ids WHERE worker_id = ? AND token = ?';
// An expired lease that nobody took is still ours; once taken the token differs.
const RENEW = `
  UPDATE t_worker_ids SET expires_at = NOW(3) + INTERVAL ${String(LEASE_SECONDS)} SECOND, reserved_until = GREATEST(reserved_until, ?)
   WHERE worker_id = ? AND token = ?`;
const RELEASE = 'UPDATE t_worker_ids SET expires_at = NOW(3) WHERE worker_id = ? AND token = ?';
const HELD = 'SELECT 1 AS held FROM t_worker_ids FORCE INDEX (PRIMARY) WHERE worker_id = ? AND token = ? AND expires_at > NOW(3) FOR SHARE';

/**
 * Holds one worker id in MySQL for as long as this process lives, and keeps time reserved for its ids. A lost lease stops the generator
 * at once and another id is taken; a batch that was numbered under the old one fails its own check in the transaction.
 */
export class WorkerLease implements Part {
  readonly name = 'ids';
  readonly ids: Snowflake;
  readonly #deps: WorkerLeaseDeps;
  #workerId = -1;
  #token: Buffer = Buffer.alloc(16);
  #timer: NodeJS.Timeout | undefined;
  #renewal: Promise<void> = Promise.resolve();
  #isRenewing = false;

  constructor(deps: WorkerLeaseDeps) {
    this.#deps = deps;
    this.ids = new Snowflake(deps.clock);
  }

  /** @throws when the range is full or MySQL does not answer */
  async start(): Promise<void> {
    await this.#acquire();
    this.#timer = setInterval(() => {
      if (this.#isRenewing) return; // MySQL is slow; asking more often makes it no faster
      this.#isRenewing = true;
      this.#renewal = this.#renew().finally(() => (this.#isRenewing = false));
    }, RENEW_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewal;
    this.ids.reserve(0);
    await this.#deps.control.change(RELEASE, [this.#workerId, this.#token]);
  }

  get workerId(): number {
    return this.#workerId;
  }

  /** The statement and parameters that prove, inside a writing transaction, that the ids it uses are still ours. Schema-qualified. */
  get proof(): { readonly sql: string; readonly params: readonly [number, Buffer] } {
    return { sql: HELD.replace('t_worker_ids', `${this.#deps.control.name}.t_worker_ids`), params: [this.#workerId, this.#token] };
  }

  async #acquire(): Promise<void> {
    const token = randomBytes(16);
    const { workerId, reservedUntil } = await this.#deps.control.transaction(async (tx) => {
      for (;;) {
        const free = await this.#findFree(tx);
        await tx.change(TAKE, [free, this.#deps.owner, token]);
        const [row] = await tx.select<{ reserved_until: string }>(READ_RESERVATION, [free, token]);
        if (row !== undefined) return { workerId: free, reservedUntil: Number(row.reserved_until) };
      }
    });
    [this.#workerId, this.#token] = [workerId, token];
    this.ids.adopt(workerId, reservedUntil);
    await this.#reserve();
    this.#deps.log.info({ worker_id: workerId }, 'worker id leased');
  }

  async #findFree(tx: Tx): Promise<number> {
    const { first, last, preferred } = this.#deps.range;
    const rows = await tx.select<{ worker_id: number; is_free: string }>(LIST, [first, last]);
    const taken = new Set(rows.filter((row) => row.is_free === '0').map((row) => row.worker_id));
    const size = last - first + 1;
    for (let step = 0; step < size; step += 1) {
      const candidate = first + ((preferred - first + step) % size);
      if (!taken.has(candidate)) return candidate;
    }
    throw new Error(`all worker ids ${String(first)}-${String(last)} are leased`);
  }

  async #reserve(): Promise<boolean> {
    const until = this.ids.currentMs + RESERVE_MS;
    const { rows } = await this.#deps.control.change(RENEW, [until, this.#workerId, this.#token]);
    if (rows === 1) this.ids.reserve(until);
    return rows === 1;
  }

  async #renew(): Promise<void> {
    try {
      if (await this.#reserve()) return;
      this.ids.reserve(0);
      this.#deps.log.warn({ worker_id: this.#workerId }, 'worker id lease lost; taking another');
      await this.#acquire();
    } catch (error) {
      // What is reserved is used up within 3 s; then sends are refused as BUSY until MySQL is back.
      this.#deps.log.warn({ error: error as Error }, 'worker id lease not renewed');
    }
  }
}
