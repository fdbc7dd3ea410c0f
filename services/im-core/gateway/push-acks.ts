import type { PushExpectation } from './session.ts';
import type { Cancel, Timers } from './timer-wheel.ts';

interface Waiting {
  readonly dueMs: number;
  readonly expectation: PushExpectation;
}

/** Pushes of one connection that wait for PUSH_ACK, oldest first. One timer for all: the waiting time is the same for each. */
export class PushAcks {
  readonly #timers: Timers;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #cancel: Cancel | undefined;

  constructor(timers: Timers, timeoutMs: number) {
    this.#timers = timers;
    this.#timeoutMs = timeoutMs;
  }

  expect(sequenceId: number, expectation: PushExpectation): void {
    this.#waiting.set(sequenceId, { dueMs: this.#timers.nowMs() + this.#timeoutMs, expectation });
    this.#cancel ??= this.#timers.after(this.#timeoutMs, () => this.#expire());
  }

  /** @returns false when nothing waits under this number: unknown, late or a repeat */
  acknowledge(sequenceId: number): boolean {
    return this.#waiting.delete(sequenceId);
  }

  /** The connection ended: nobody will acknowledge any more. */
  abandon(): void {
    this.#cancel?.();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { expectation } of waiting) expectation.onTimeout();
  }

  #expire(): void {
    this.#cancel = undefined;
    const nowMs = this.#timers.nowMs();
    for (const [sequenceId, { dueMs, expectation }] of this.#waiting) {
      if (dueMs > nowMs) {
        this.#cancel = this.#timers.after(dueMs - nowMs, () => this.#expire());
        return;
      }
      this.#waiting.delete(sequenceId);
      expectation.onTimeout();
    }
  }
}
