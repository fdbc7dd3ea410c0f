import { Redis } from 'ioredis';
import type { Log } from '../log/log.ts';

export type { Redis } from 'ioredis';

export interface RedisLogin {
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  readonly user?: string;
  readonly password?: string;
}

export interface RedisSettings {
  /** A command that got no answer after this is rejected; its effect is then unknown. Default 2,000 ms. Blocking readers pass their own. */
  readonly commandTimeoutMs?: number;
  readonly log?: Log;
}

/**
 * Opens one connection that fails fast: no offline queue, nothing is ever sent twice by itself (a lost reply leaves the effect unknown,
 * and only the caller can tell whether the command may run again). Blocking reads need a connection of their own.
 */
export function openRedis(login: RedisLogin, { commandTimeoutMs = 2_000, log }: RedisSettings = {}): Redis {
  const redis = new Redis({
    ...addressOptions(login.address),
    ...(login.user === undefined ? {} : { username: login.user }),
    ...(login.password === undefined ? {} : { password: login.password }),
    commandTimeout: commandTimeoutMs,
    connectTimeout: 5_000,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
    lazyConnect: true,
  });
  // Without a listener a dropped connection would end the process; the commands that failed report it.
  redis.on('error', (error: Error) => log?.debug({ error }, 'redis connection'));
  redis.on('close', () => {
    failUnanswered(redis);
  });
  return redis;
}

/**
 * The driver leaves commands whose connection ended before their answer unsettled until their time is over; for a reader that may wait
 * long that is a minute of deafness.
 */
function failUnanswered(redis: Redis): void {
  for (let item = redis.commandQueue.shift(); item !== undefined; item = redis.commandQueue.shift()) {
    item.command.reject(new Error('Connection is closed.')); // what the driver says of a command that it cannot send
  }
}

function addressOptions(address: string): { path: string } | { host: string; port: number } {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) };
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** Connects, waiting for the server until the deadline. @throws the last connection error */
export async function connectRedis(redis: Redis, deadlineMs = 30_000): Promise<void> {
  if (redis.status === 'ready') return;
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  let last: Error | undefined;
  const onError = (error: Error): void => void (last = error);
  const timer = setTimeout(() => {
    reject(last ?? new Error('redis did not become ready'));
  }, deadlineMs);
  redis.once('ready', () => {
    resolve(undefined);
  });
  redis.on('error', onError);
  try {
    if (redis.status === 'wait' || redis.status === 'end') redis.connect().catch(() => undefined); // retries go on; the error event has the reason
    await promise;
  } finally {
    clearTimeout(timer);
    redis.off('error', onError);
  }
}

/** Closes; a connection that is not up is simply dropped. */
export async function closeRedis(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await redis.quit().catch(() => undefined);
  redis.disconnect();
}

/** A Lua script with the shape of its arguments; EVALSHA first, EVAL when the server forgot it. */
export class Script {
  readonly #text: string;
  readonly #sha: Promise<string>;

  constructor(text: string) {
    this.#text = text;
    this.#sha = sha1(text);
  }

  async run(redis: Redis, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    const sha = await this.#sha;
    try {
      return await redis.evalsha(sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return redis.eval(this.#text, keys.length, ...keys, ...args);
      throw error;
    }
  }
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text));
  return Buffer.from(digest).toString('hex');
}
