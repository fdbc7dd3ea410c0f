import { setTimeout as pause } from 'node:timers/promises';
import type { EventEmitter } from 'node:events';

export interface Wait {
  /** Completes "gave up waiting for ...". */
  readonly what: string;
  /** Default 10,000 ms. */
  readonly deadlineMs?: number;
}

const DEFAULT_DEADLINE_MS = 10_000;
const CHECK_EVERY_MS = 20;

/**
 * Asks again and again until the answer is neither undefined nor false, and returns it. A check that throws is asked again too.
 * For what can only be looked at from outside, such as a row that another process writes; prefer an event where there is one.
 * @throws after the deadline, with the last error as cause
 */
export async function eventually<T>(
  check: () => Promise<T> | T,
  { what, deadlineMs = DEFAULT_DEADLINE_MS }: Wait,
): Promise<Exclude<T, undefined | false>> {
  const deadline = performance.now() + deadlineMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) throw new Error(`gave up waiting for ${what} after ${deadlineMs} ms`, { cause });
    await pause(CHECK_EVERY_MS);
  }
}

/** The promise's value, or an error that says what did not come in time. */
export async function within<T>(promise: Promise<T>, { what, deadlineMs = DEFAULT_DEADLINE_MS }: Wait): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`gave up waiting for ${what} after ${deadlineMs} ms`)), deadlineMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The arguments of the next event of this name. Call it before what causes the event. */
export async function nextEvent(emitter: EventEmitter, name: string, wait: Partial<Wait> = {}): Promise<readonly unknown[]> {
  const { promise, resolve } = Promise.withResolvers<readonly unknown[]>();
  const listener = (...args: readonly unknown[]): void => resolve(args);
  emitter.once(name, listener);
  try {
    return await within(promise, { what: `the event ${name}`, ...wait });
  } finally {
    emitter.off(name, listener);
  }
}
