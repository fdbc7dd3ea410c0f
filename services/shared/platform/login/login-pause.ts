import { createHash } from 'node:crypto';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { Script } from '../redis/redis.ts';

export interface PauseSettings {
  /** Wrong passwords until the pause. Default 5. */
  readonly failures?: number;
  /** Default 60,000 ms. */
  readonly pauseMs?: number;
  /** Wrong passwords older than this are forgotten (ms). Default 900,000. */
  readonly memoryMs?: number;
}

// One key a subject: a number while it counts, "paused" with the pause as its TTL afterwards.
const WAIT = new Script(`
local longest = 0
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == 'paused' then longest = math.max(longest, redis.call('PTTL', key)) end
end
return longest`);
const FAIL = new Script(`
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) ~= 'paused' then
    if redis.call('INCR', key) >= tonumber(ARGV[1]) then redis.call('SET', key, 'paused', 'PX', ARGV[2])
    else redis.call('PEXPIRE', key, ARGV[3]) end
  end
end`);

/**
 * Makes guessing slow: after five wrong passwords for a name, or from an address, that subject waits a minute. It holds for every process,
 * and for names that do not exist as for those that do. Without Redis nobody logs in: an open door for guessing would be worse.
 */
export class LoginPause {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #settings: Required<PauseSettings>;

  /** `prefix` stands in front of every key, e.g. `im:login:` */
  constructor(redis: Redis, prefix: string, { failures = 5, pauseMs = 60_000, memoryMs = 900_000 }: PauseSettings = {}) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#settings = { failures, pauseMs, memoryMs };
  }

  /** @throws {Refusal} RATE_LIMITED with retry_after_ms while one of the subjects waits | BUSY without Redis */
  async assertOpen(subjects: LoginSubjects): Promise<void> {
    const waitMs = Number(await this.#run(WAIT, this.#keys(subjects), []));
    if (waitMs > 0) throw new Refusal('RATE_LIMITED', 'too many wrong passwords; wait before the next try', { retry_after_ms: waitMs });
  }

  /** Counts one wrong password against each subject. */
  async failed(subjects: LoginSubjects): Promise<void> {
    const { failures, pauseMs, memoryMs } = this.#settings;
    await this.#run(FAIL, this.#keys(subjects), [failures, pauseMs, memoryMs]);
  }

  /** The right password clears its name. The address keeps its count: its owner may know one password and guess others. */
  async succeeded({ name }: LoginSubjects): Promise<void> {
    await this.#guarded(() => this.#redis.del(this.#nameKey(name)));
  }

  #keys({ name, realIp }: LoginSubjects): string[] {
    const keys = [this.#nameKey(name)];
    if (realIp !== 'unknown') keys.push(`${this.#prefix}ip:${realIp}`);
    return keys;
  }

  /** Hashed, because a name is whatever somebody typed, a password in the wrong field included. */
  #nameKey(name: string): string {
    return `${this.#prefix}name:${createHash('sha256').update(name.normalize('NFC').toLowerCase()).digest('hex').slice(0, 32)}`;
  }

  async #run(script: Script, keys: readonly string[], args: readonly number[]): Promise<unknown> {
    return this.#guarded(() => script.run(this.#redis, keys, args));
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new Refusal('BUSY', 'login is not possible now', {}, { cause });
    }
  }
}

/** Whom a wrong password counts against. */
export interface LoginSubjects {
  /** With the tenant in front where names are a tenant's. */
  readonly name: string;
  /** `unknown` is not counted. */
  readonly realIp: string;
}
