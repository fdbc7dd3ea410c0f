import type { EachBatchPayload } from 'kafkajs';

/** How soon a partition is opened again while something that its records need is away (ms); the last one repeats. */
const OUTAGE_MS = [250, 500, 1_000, 2_000];

/** Failed records of the partitions we hold, and the timers that open paused partitions again. */
export class PartitionRetries {
  readonly #backoffMs: readonly number[];
  readonly #attempts = new Map<string, number>();
  /** Pauses in a row that were nobody's fault, by partition. */
  readonly #outages = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** @param backoffMs delay before each attempt; the last one repeats */
  constructor(backoffMs: readonly number[]) {
    this.#backoffMs = backoffMs;
  }

  attempts(topic: string, partition: number, offset: string): number {
    return this.#attempts.get(name(topic, partition, offset)) ?? 0;
  }

  failed(topic: string, partition: number, offset: string): void {
    this.#attempts.set(name(topic, partition, offset), this.attempts(topic, partition, offset) + 1);
  }

  finished(topic: string, partition: number, offset: string): void {
    this.#attempts.delete(name(topic, partition, offset));
    this.#outages.delete(name(topic, partition));
  }

  /** Fetches nothing of that partition until the delay of its lowest unfinished record is over; after an outage that is soon. */
  pause(payload: EachBatchPayload, lowestUnfinished: string | undefined, isOutage: boolean): void {
    const { topic, partition } = payload.batch;
    const key = name(topic, partition);
    const outages = isOutage ? (this.#outages.get(key) ?? 0) + 1 : 0;
    this.#outages.set(key, outages);
    const attempt = lowestUnfinished === undefined ? 1 : this.attempts(topic, partition, lowestUnfinished);
    const delayMs = isOutage ? backoff(OUTAGE_MS, outages) : backoff(this.#backoffMs, Math.max(attempt, 1));
    const resume = payload.pause();
    clearTimeout(this.#timers.get(key));
    this.#timers.set(
      key,
      setTimeout(() => {
        this.#timers.delete(key);
        resume();
      }, delayMs),
    );
  }

  /** After a stop or a lost session: attempts count anew, nothing stays paused. */
  clear(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#attempts.clear();
    this.#outages.clear();
  }
}

function name(...parts: readonly (string | number)[]): string {
  return parts.join('/');
}

/** Delay before attempt 1, 2, ...; the last one repeats. Up to a tenth is added, so that many failures do not come back at once. */
export function backoff(delaysMs: readonly number[], attempt: number): number {
  const delayMs = delaysMs[Math.min(attempt, delaysMs.length) - 1] ?? 1_000;
  return Math.round(delayMs * (1 + Math.random() / 10));
}
