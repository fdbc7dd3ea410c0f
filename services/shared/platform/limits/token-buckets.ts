import { Refusal } from '#shared/contract/reasons.ts';

export interface BucketSettings {
  /** Takes in one period, and at most at once. */
  readonly size: number;
  readonly periodMs: number;
  /** Keys that are remembered at the same time; the one that was quiet for longest is forgotten first. Default 50,000, about 5 MB. */
  readonly maxKeys?: number;
}

/**
 * A token bucket per key, in the memory of this process. It holds for one process: with several, each grants the whole limit.
 *
 * A bucket is one number, the time at which it would be full again; a full bucket is not kept, so memory follows the keys that are active.
 * Time is monotonic: a clock that is set neither opens nor closes anything.
 *
 * @see LIM-01 .. LIM-05
 */
export class TokenBuckets {
  readonly #settings: Required<BucketSettings>;
  readonly #nowMs: () => number;
  /** Key -> when its bucket is full again (ms); in the order of the last take. */
  readonly #fullAt = new Map<string, number>();

  constructor(settings: BucketSettings, nowMs: () => number = () => performance.now()) {
    this.#settings = { maxKeys: 50_000, ...settings };
    this.#nowMs = nowMs;
  }

  /** Takes a token. @returns 0, or after how many ms there will be one; a take that failed costs nothing */
  take(key: string): number {
    const { size, periodMs } = this.#settings;
    const now = this.#nowMs();
    this.#forgetFull(now);
    const tokenMs = periodMs / size;
    const fullAt = Math.max(this.#fullAt.get(key) ?? now, now);
    const excessMs = fullAt + tokenMs - now - periodMs;
    const isGranted = excessMs <= ROUNDING_MS;
    this.#fullAt.delete(key); // the last place is for who asked last, granted or not
    this.#fullAt.set(key, isGranted ? fullAt + tokenMs : fullAt);
    this.#forgetOldest();
    return isGranted ? 0 : Math.ceil(excessMs);
  }

  /** @throws {Refusal} RATE_LIMITED with retry_after_ms */
  assert(key: string): void {
    const waitMs = this.take(key);
    if (waitMs > 0) throw new Refusal('RATE_LIMITED', 'too many requests; wait before the next one', { retry_after_ms: waitMs });
  }

  /** Keys in memory. */
  get keys(): number {
    return this.#fullAt.size;
  }

  /** Two for each take: faster than keys can come. */
  #forgetFull(now: number): void {
    let looked = 0;
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt > now || (looked += 1) > 2) return;
      this.#fullAt.delete(key);
    }
  }

  #forgetOldest(): void {
    if (this.#fullAt.size <= this.#settings.maxKeys) return;
    for (const key of this.#fullAt.keys()) {
      this.#fullAt.delete(key);
      return;
    }
  }
}

/** Sums of fractions drift; less than this is no waiting. */
const ROUNDING_MS = 0.001;
