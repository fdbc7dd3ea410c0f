import type { Part } from '../lifecycle/lifecycle.ts';
import type { Log } from '../log/log.ts';
import type { Lease } from './lease.ts';
import { LeaseLost } from './lease.ts';
import type { WakeListener } from './wake.ts';

/** What one round found. */
export interface Drained {
  /** There may be more to do right now. */
  readonly hasMore: boolean;
  /** Nothing can be done before, e.g. until the next retry; default: until woken. */
  readonly waitMs?: number;
}

export interface DrainLoopDeps {
  readonly lease: Lease;
  readonly wake: WakeListener;
  readonly log: Log;
  /** Does one bounded round of work under the lease. What it throws is logged, and it is called again. */
  readonly drain: () => Promise<Drained>;
}

export interface DrainLoopSettings {
  readonly name: string;
  /** The net under lost wake-ups. Infinity = none. Default 1,000 ms. */
  readonly pollMs?: number;
}

const FAILURE_WAIT_MS = { first: 200, most: 2_000 } as const;

/** Drains a table of work: by one process at a time, at once when woken, and by a poll when the wake-up got lost. */
export class DrainLoop implements Part {
  readonly name: string;
  readonly #deps: DrainLoopDeps;
  readonly #pollMs: number;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();
  #failures = 0;

  constructor(deps: DrainLoopDeps, { name, pollMs = 1_000 }: DrainLoopSettings) {
    this.#deps = deps;
    this.#pollMs = pollMs;
    this.name = name;
  }

  start(): Promise<void> {
    this.#deps.wake.start();
    this.#running = this.#run();
    return Promise.resolve();
  }

  /** Finishes the round in hand and gives the lease away. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#deps.wake.stop();
    await this.#running;
    await this.#deps.lease.release().catch(() => undefined); // It runs out by itself.
  }

  async #run(): Promise<void> {
    const { lease, wake } = this.#deps;
    while (!this.#isStopping) {
      const waitMs = await this.#round();
      // Another process works: a wake-up that is taken here would be missing there.
      if (waitMs === 'not ours') await wake.rest(lease.ttlMs / 3);
      else if (waitMs > 0) await this.#sleep(waitMs);
    }
  }

  /** @returns how long there is nothing to do */
  async #round(): Promise<number | 'not ours'> {
    const { lease, drain, log } = this.#deps;
    try {
      if (!(await lease.hold())) return 'not ours';
      const { hasMore, waitMs = Number.POSITIVE_INFINITY } = await drain();
      this.#failures = 0;
      return hasMore ? 0 : Math.max(Math.min(waitMs, this.#pollMs), 1);
    } catch (error) {
      lease.doubt();
      if (error instanceof LeaseLost) return 'not ours';
      this.#failures += 1;
      log.warn({ part: this.name, error: error instanceof Error ? error : new Error(String(error)) }, 'a round failed and is tried again');
      return Math.min(FAILURE_WAIT_MS.first * 2 ** Math.min(this.#failures - 1, 10), FAILURE_WAIT_MS.most);
    }
  }

  /** Sleeps until woken or the time is over, and keeps the lease meanwhile. */
  async #sleep(ms: number): Promise<void> {
    const { lease, wake } = this.#deps;
    const untilMs = performance.now() + ms;
    for (let leftMs = ms; leftMs > 0 && !this.#isStopping; leftMs = untilMs - performance.now()) {
      if (await wake.sleep(Math.min(leftMs, lease.ttlMs / 3))) return;
      if (!(await lease.hold().catch(() => false))) return;
    }
  }
}
