/** Stops a timer; harmless when it has run. */
export type Cancel = () => void;

export interface Timers {
  /** Runs `task` once, no earlier than `ms` from now and at most one tick later. */
  after(ms: number, task: () => void): Cancel;
  /** The time that `after` counts in (ms since the wheel was made). */
  nowMs(): number;
}

interface Entry {
  readonly dueTick: number;
  readonly task: () => void;
}

/**
 * Deadlines of all connections on one interval: setting and clearing one costs a Set operation and no timer of the runtime,
 * which counts when every frame moves a deadline (100,000 connections, idle timers).
 */
export class TimerWheel implements Timers {
  readonly #tickMs: number;
  readonly #slots: Set<Entry>[];
  #tick = 0;
  #interval: NodeJS.Timeout | undefined;
  #startedMs = 0;

  constructor(tickMs = 100, slots = 2048) {
    this.#tickMs = tickMs;
    this.#slots = Array.from({ length: slots }, () => new Set());
  }

  after(ms: number, task: () => void): Cancel {
    const entry: Entry = { dueTick: this.#tick + Math.max(1, Math.ceil(ms / this.#tickMs)), task };
    const slot = this.#slot(entry.dueTick);
    slot.add(entry);
    return () => slot.delete(entry);
  }

  nowMs(): number {
    return this.#tick * this.#tickMs;
  }

  /** Moves time on by `ms`, and runs what is due. Tests call it; `start` does so from the machine's clock. */
  advance(ms: number): void {
    for (const end = this.#tick + Math.round(ms / this.#tickMs); this.#tick < end;) {
      this.#tick += 1;
      const slot = this.#slot(this.#tick);
      for (const entry of slot) {
        if (entry.dueTick > this.#tick) continue; // a later round of the wheel
        slot.delete(entry);
        entry.task();
      }
    }
  }

  start(): void {
    this.#startedMs = performance.now() - this.#tick * this.#tickMs;
    this.#interval = setInterval(() => {
      this.advance(Math.floor((performance.now() - this.#startedMs) / this.#tickMs) * this.#tickMs - this.#tick * this.#tickMs);
    }, this.#tickMs);
    this.#interval.unref();
  }

  stop(): void {
    clearInterval(this.#interval);
  }

  #slot(tick: number): Set<Entry> {
    const slot = this.#slots[tick % this.#slots.length];
    if (slot === undefined) throw new Error('a wheel has at least one slot');
    return slot;
  }
}
