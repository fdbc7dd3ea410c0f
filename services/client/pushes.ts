import type { Frame } from '#shared/contract/frame.ts';

/** What the server sent unasked, opened: `data` of its envelope. */
export interface Push {
  readonly command: number;
  readonly sequenceId: number;
  readonly data: Readonly<Record<string, unknown>>;
  /** When it came, `performance.now()`. */
  readonly atMs: number;
  readonly frame: Frame;
}

interface Waiter {
  readonly accepts: (push: Push) => boolean;
  readonly resolve: (push: Push) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Pushes in the order they came, kept until somebody takes them. `next` takes the first that fits and leaves the others,
 * so that a test may wait for an EVENT while messages arrive. Iterating takes all of them.
 */
export class Pushes {
  readonly #kept: Push[] = [];
  readonly #waiters = new Set<Waiter>();
  #end: Error | undefined;

  add(push: Push): void {
    const waiter = [...this.#waiters].find(({ accepts }) => accepts(push));
    if (waiter === undefined) {
      this.#kept.push(push);
      return;
    }
    this.#waiters.delete(waiter); // now and not when it wakes: the next push of the same read is not his
    waiter.resolve(push);
  }

  /** Nothing will come any more: those who wait get `error`. What is kept can still be taken. */
  end(error: Error): void {
    this.#end = error;
    for (const { reject } of this.#waiters) reject(error);
  }

  /** Takes the first push that fits, waiting up to `deadlineMs`. @throws {Error} that names `what` when none came */
  async next(what: string, accepts: (push: Push) => boolean, deadlineMs = 10_000): Promise<Push> {
    const index = this.#kept.findIndex(accepts);
    const [kept] = index === -1 ? [] : this.#kept.splice(index, 1);
    if (kept !== undefined) return kept;
    if (this.#end !== undefined) throw this.#end;
    return this.#wait(accepts, new Error(`${what} did not come within ${deadlineMs} ms`), deadlineMs);
  }

  /** Takes what has come so far. */
  drain(): Push[] {
    return this.#kept.splice(0);
  }

  /** Every push until the connection ends. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Push> {
    for (;;) {
      try {
        yield await this.next('a push', () => true, 2 ** 31 - 1);
      } catch (error) {
        if (error === this.#end) return;
        throw error;
      }
    }
  }

  async #wait(accepts: (push: Push) => boolean, late: Error, deadlineMs: number): Promise<Push> {
    const { promise, resolve, reject } = Promise.withResolvers<Push>();
    const waiter = { accepts, resolve, reject };
    const timer = setTimeout(() => reject(late), deadlineMs);
    this.#waiters.add(waiter);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }
}
