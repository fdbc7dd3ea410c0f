import type { Counter, Gauge } from 'prom-client';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';

export interface TaskPoolSettings {
  /** Tasks at work at the same time. */
  readonly size: number;
  /** Tasks that may wait for that. */
  readonly queue: number;
}

/**
 * Bounds the work of all connections of a process (FRM-15). Tasks start in the order they came; one that finds no place is refused
 * as BUSY at once, and the client asks again with the same `client_msg_id`.
 */
export class TaskPool {
  readonly #settings: TaskPoolSettings;
  readonly #depth: Gauge;
  readonly #active: Gauge;
  readonly #rejected: Counter;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;
  #onIdle: (() => void) | undefined;

  constructor(settings: TaskPoolSettings, metrics: Metrics) {
    this.#settings = settings;
    this.#depth = metrics.gauge('taskpool_depth', 'Client commands that wait for a place.');
    this.#active = metrics.gauge('taskpool_active', 'Client commands at work.');
    this.#rejected = metrics.counter('taskpool_rejected_total', 'Client commands refused as BUSY.');
  }

  /** Starts the task now or later; it must not reject. @throws {Refusal} BUSY when the queue is full */
  submit(task: () => Promise<void>): void {
    if (this.#running < this.#settings.size) {
      void this.#run(task);
      return;
    }
    if (this.#waiting.length >= this.#settings.queue) {
      this.#rejected.inc();
      throw new Refusal('BUSY', 'too many requests at once');
    }
    this.#waiting.push(task);
    this.#depth.set(this.#waiting.length);
  }

  /** Resolves when nothing runs and nothing waits. For stopping: submit nothing more before. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  async #run(first: () => Promise<void>): Promise<void> {
    this.#running += 1;
    this.#active.set(this.#running);
    for (let task: (() => Promise<void>) | undefined = first; task !== undefined; task = this.#next()) await task();
    this.#running -= 1;
    this.#active.set(this.#running);
    if (this.#running === 0) this.#onIdle?.();
  }

  #next(): (() => Promise<void>) | undefined {
    const task = this.#waiting.shift();
    if (task !== undefined) this.#depth.set(this.#waiting.length);
    return task;
  }
}
