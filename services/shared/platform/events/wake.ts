import type { Log } from '../log/log.ts';
import { closeRedis, openRedis } from '../redis/redis.ts';
import type { Redis, RedisLogin } from '../redis/redis.ts';

/**
 * Wake-ups go over Redis lists that hold one token at most: "there is something". A token may get lost (Redis away, a crash after
 * COMMIT); then the sleeper's poll finds the work. Tokens carry nothing.
 */
export type Wake = (key: string) => void;

/** Drops a token. Never waits, never fails. */
export function redisWake(redis: Redis, log?: Log): Wake {
  return (key) => {
    redis
      .pipeline()
      .lpush(key, '1')
      .ltrim(key, 0, 0)
      .exec()
      .catch((error: unknown) => log?.debug({ key, error: error instanceof Error ? error : new Error('redis') }, 'no wake-up was sent'));
  };
}

/** For a process without Redis: the poll does it all. */
export const noWake: Wake = () => undefined;

/** A command that got no answer for so long is given up; blocking reads are shorter. */
const COMMAND_TIMEOUT_MS = 60_000;
const LONGEST_READ_MS = 30_000;
/** A read that is so much later than it was asked to be will not end. */
const LATE_MS = 500;

/** Sleeps until a token comes, on a Redis connection of its own. Without Redis it is a plain sleep. */
export class WakeListener {
  readonly #key: string;
  readonly #redis: Redis | undefined;
  readonly #stopping = new AbortController();

  constructor(login: RedisLogin | undefined, key: string) {
    this.#key = key;
    this.#redis = login === undefined ? undefined : openRedis(login, { commandTimeoutMs: COMMAND_TIMEOUT_MS });
  }

  start(): void {
    this.#redis?.connect().catch(() => undefined); // It goes on trying by itself.
  }

  /** Ends a sleep at once. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#redis?.disconnect(); // A blocking read would keep a polite goodbye waiting.
    if (this.#redis !== undefined) await closeRedis(this.#redis);
  }

  /** @returns whether a token came, or Redis did (tokens may have been missed while it was away) */
  async sleep(ms: number): Promise<boolean> {
    if (this.#stopping.signal.aborted) return false;
    if (this.#redis?.status !== 'ready') return this.#sleepWithoutRedis(ms);
    const startedMs = performance.now();
    try {
      return await this.#read(this.#redis, Math.max(Math.min(ms, LONGEST_READ_MS), 1)); // 0 would mean "for ever".
    } catch {
      return this.#sleepWithoutRedis(ms - (performance.now() - startedMs));
    }
  }

  /** Sleeps and takes no token: somebody else does the work. Ended early by `stop` alone, or by Redis coming back. */
  async rest(ms: number): Promise<void> {
    if (!this.#stopping.signal.aborted) await this.#sleepWithoutRedis(ms);
  }

  /** Where Redis hangs or is gone, nothing ends the read; then the connection is given up, and until there is a new one the poll does it all. */
  async #read(redis: Redis, ms: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      if (redis.status === 'ready') redis.disconnect(true);
      late.resolve(false);
    }, ms + LATE_MS);
    const read = redis.blpop(this.#key, ms / 1_000);
    read.catch(() => undefined); // It may fail when nobody waits for it any more.
    try {
      return await Promise.race([read.then((token) => token !== null), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #sleepWithoutRedis(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const wake = (): void => resolve(true);
    const end = (): void => resolve(false);
    const timer = setTimeout(end, Math.min(Math.max(ms, 0), LONGEST_READ_MS));
    this.#redis?.once('ready', wake);
    this.#stopping.signal.addEventListener('abort', end, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#redis?.off('ready', wake);
      this.#stopping.signal.removeEventListener('abort', end);
    }
  }
}
