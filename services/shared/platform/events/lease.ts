import { randomBytes } from 'node:crypto';
import type { Database } from '../mysql/database.ts';

export interface LeaseSettings {
  /** What is held, e.g. `relay:im_default`. */
  readonly name: string;
  /** Who holds it, for people. */
  readonly owner: string;
  /** A holder that is silent for this long loses it. Default 10,000 ms. */
  readonly ttlMs?: number;
}

/** The lost lease of a holder that stalled. What it was doing has had no effect. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * A row of t_leases: one holder at a time, known by a random token. Believing to hold it is not enough, since a process may be stopped
 * for any time between asking and acting: every effect joins `LEASE_IS_OURS` with `key`, so that a stale holder changes nothing.
 */
export class Lease {
  readonly name: string;
  readonly ttlMs: number;
  readonly #db: Database;
  readonly #table: string;
  readonly #owner: string;
  readonly #token = randomBytes(16);
  #takenMs = Number.NEGATIVE_INFINITY;

  /** @param database where its t_leases lies; `db` may be a pool on another database of the same server */
  constructor({ db, database }: { db: Database; database: string }, { name, owner, ttlMs = 10_000 }: LeaseSettings) {
    this.name = name;
    this.ttlMs = ttlMs;
    this.#db = db;
    this.#table = `\`${database}\`.t_leases`;
    this.#owner = owner;
  }

  /** For an UPDATE: `UPDATE some_table o ${lease.isOurs} SET ...`, with `lease.key` as its first two parameters. */
  get isOurs(): string {
    return `JOIN ${this.#table} l ON l.name = ? AND l.token = ? AND l.expires_at > NOW(3)`;
  }

  get key(): readonly [string, Buffer] {
    return [this.name, this.#token];
  }

  /** Takes or renews it. Asks the database only when a third of its time is over. @returns whether we hold it */
  async hold(): Promise<boolean> {
    const nowMs = performance.now();
    if (nowMs - this.#takenMs < this.ttlMs / 3) return true;
    const held = (await this.#renew()) || (await this.#create());
    this.#takenMs = held ? nowMs : Number.NEGATIVE_INFINITY;
    return held;
  }

  /** The next `hold` asks the database. */
  doubt(): void {
    this.#takenMs = Number.NEGATIVE_INFINITY;
  }

  /** Lets another holder in at once. */
  async release(): Promise<void> {
    this.doubt();
    await this.#db.change(`UPDATE ${this.#table} SET expires_at = NOW(3) WHERE name = ? AND token = ?`, this.key);
  }

  async #renew(): Promise<boolean> {
    const { rows } = await this.#db.change(
      `UPDATE ${this.#table} SET owner = ?, token = ?, expires_at = NOW(3) + INTERVAL ? MICROSECOND
        WHERE name = ? AND (token = ? OR expires_at <= NOW(3))`,
      [this.#owner, this.#token, this.ttlMs * 1_000, this.name, this.#token],
    );
    return rows === 1;
  }

  async #create(): Promise<boolean> {
    const { rows } = await this.#db.change(
      `INSERT INTO ${this.#table} (name, owner, token, expires_at) VALUES (?, ?, ?, NOW(3) + INTERVAL ? MICROSECOND)
       ON DUPLICATE KEY UPDATE name = VALUES(name)`,
      [this.name, this.#owner, this.#token, this.ttlMs * 1_000],
    );
    return rows === 1;
  }
}
