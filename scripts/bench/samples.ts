/** Measured times (ms), kept in full: a percentile of them is exact. */
export class Samples {
  #values = new Float64Array(16_384);
  #count = 0;

  add(ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count] = ms;
    this.#count += 1;
  }

  get count(): number {
    return this.#count;
  }

  /** The smallest value that `share` (0..1) of all are at or below; undefined when there are none. */
  percentile(share: number): number | undefined {
    if (this.#count === 0) return undefined;
    const sorted = this.#values.slice(0, this.#count).sort();
    return sorted[Math.max(0, Math.ceil(share * this.#count) - 1)];
  }

  /** p50 and p99 in ms, rounded to 0.01. */
  summary(): Latency {
    return { count: this.#count, p50: rounded(this.percentile(0.5)), p99: rounded(this.percentile(0.99)) };
  }
}

export interface Latency {
  readonly count: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

function rounded(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 100) / 100;
}

/** NaN when there is none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export interface Comparison {
  /** A through B, pair by pair in the order they were measured. */
  readonly pairs: readonly number[];
  /** Their median. */
  readonly ratio: number;
  /** Each A through the A measured next: what the same thing differs from itself. */
  readonly same: readonly number[];
  readonly goal: number;
  readonly verdict: 'met' | 'missed' | 'not decidable';
}

/**
 * Compares two series that were measured in turns (A B A B). How far A differs from A is what this machine can tell apart at all: a ratio
 * that misses or passes its goal by less than that decides nothing.
 */
export function compare(measured: readonly { readonly a: number; readonly b: number }[], goal: number): Comparison {
  const pairs = measured.map(({ a, b }) => a / b);
  const same = measured.slice(1).map(({ a }, n) => (measured[n]?.a ?? Number.NaN) / a);
  const ratio = median(pairs);
  const spread = Math.max(...same.map((value) => Math.max(value, 1 / value)));
  const margin = Math.max(ratio / goal, goal / ratio);
  const isDecidable = same.length > 0 && margin > spread;
  return { pairs, ratio, same, goal, verdict: isDecidable ? (ratio >= goal ? 'met' : 'missed') : 'not decidable' };
}
