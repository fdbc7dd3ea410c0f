import { Refusal } from '#shared/contract/reasons.ts';
import type { Clock } from '../clock/clock.ts';
import { ID_EPOCH_MS, idTimeMs, SEQUENCE_BITS, WORKER_BITS } from './id-generator.ts';
import type { IdGenerator } from './id-generator.ts';

/** How far ids may run ahead of this machine's clock before sends are refused (ms). A clock that was set back has caught up by then, or needs a person. */
export const MAX_AHEAD_MS = 10_000;
const SEQUENCES = 1n << SEQUENCE_BITS;

/**
 * The generator of one worker id. Time never goes back: it is the greatest of the clock, the reservation's start, the last id's time and the
 * head's time. It only uses time that was reserved in MySQL beforehand, so that a restart after a clock step starts above every id issued.
 *
 * @see MSG-05 @see MSG-06 @see MSG-11
 */
export class Snowflake implements IdGenerator {
  readonly #clock: Clock;
  #worker = 0n;
  #lastMs = 0;
  #sequence = 0n;
  #usableUntilMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes over a leased worker id; ids start at `startMs` (ms since 2024), where the last holder's reservation ended. */
  adopt(workerId: number, startMs: number): void {
    this.#worker = BigInt(workerId) << SEQUENCE_BITS;
    this.#lastMs = Math.max(this.#lastMs, startMs);
    this.#sequence = SEQUENCES;
  }

  /** Ids may use time below `ms` (since 2024). 0 stops the generator: the lease is lost. */
  reserve(ms: number): void {
    this.#usableUntilMs = ms;
  }

  /** The time that the next reservation must lie ahead of. */
  get currentMs(): number {
    return Math.max(this.#nowMs(), this.#lastMs);
  }

  next(above = 0n): bigint {
    let ms = Math.max(this.#nowMs(), this.#lastMs, idTimeMs(above));
    let sequence = ms === this.#lastMs ? this.#sequence : 0n;
    if (sequence >= SEQUENCES || this.#compose(ms, sequence) <= above) [ms, sequence] = [ms + 1, 0n];
    this.#check(ms);
    [this.#lastMs, this.#sequence] = [ms, sequence + 1n];
    return this.#compose(ms, sequence);
  }

  #check(ms: number): void {
    if (ms - this.#nowMs() > MAX_AHEAD_MS) throw new Refusal('BUSY', 'the clock of this server is behind the ids it already issued');
    if (ms >= this.#usableUntilMs) {
      this.#lastMs = Math.max(this.#lastMs, Math.min(ms, this.#usableUntilMs)); // the next reservation covers what was asked for
      throw new Refusal('BUSY', 'no ids are reserved for this process right now');
    }
  }

  #compose(ms: number, sequence: bigint): bigint {
    return (BigInt(ms) << (WORKER_BITS + SEQUENCE_BITS)) | this.#worker | sequence;
  }

  #nowMs(): number {
    return this.#clock.nowMs() - ID_EPOCH_MS;
  }
}
