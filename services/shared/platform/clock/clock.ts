/** Time as a collaborator, so that a test may hold it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z; may step back when the machine's clock is set. */
  nowMs(): number;
  now(): Date;
}

export const systemClock: Clock = { nowMs: () => Date.now(), now: () => new Date() };

/** A clock that a test moves. */
export class HandClock implements Clock {
  #ms: number;

  constructor(startMs: number) {
    this.#ms = startMs;
  }

  nowMs(): number {
    return this.#ms;
  }

  now(): Date {
    return new Date(this.#ms);
  }

  /** Steps by `ms`; negative steps back. */
  step(ms: number): void {
    this.#ms += ms;
  }
}
