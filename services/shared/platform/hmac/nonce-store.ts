import type { Redis } from '#shared/platform/redis/redis.ts';
import { Script } from '../redis/redis.ts';

/** What became of a nonce. */
export type NonceVerdict = 'fresh' | 'replayed' | 'before_store';

// The store's start is written once. When the key is gone, the nonces of that time are gone with it: the store begins anew,
// and whatever was signed before that moment might be a replay that nobody can recognise.
const TAKE = new Script(`
local start = redis.call('GET', KEYS[2])
if not start then
  start = ARGV[2]
  redis.call('SET', KEYS[2], start)
end
if tonumber(ARGV[1]) < tonumber(start) then return 'before_store' end
if redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[3]) then return 'fresh' end
return 'replayed'`);

/** Remembers nonces in Redis, so that every process refuses what another one has seen. @see SIG-12 @see G-48 */
export class NonceStore {
  readonly #redis: Redis;
  readonly #prefix: string;

  /** `prefix` is in front of every key; production `im:nonce:`. */
  constructor(redis: Redis, prefix = 'im:nonce:') {
    this.#redis = redis;
    this.#prefix = prefix;
  }

  /** Writes the start of the store before the first request does, so that an early caller is not taken for an old one. */
  async open(nowMs: number): Promise<void> {
    await this.#redis.set(`${this.#prefix}start`, nowMs, 'NX');
  }

  /**
   * Takes a nonce for `ttlMs`; the second taker is told.
   *
   * @throws the driver's error when Redis does not answer; the caller must then refuse
   */
  async take(request: { service: string; nonce: string; signedAtMs: number; nowMs: number; ttlMs: number }): Promise<NonceVerdict> {
    const { service, nonce, signedAtMs, nowMs, ttlMs } = request;
    const keys = [`${this.#prefix}${service}:${nonce}`, `${this.#prefix}start`];
    return (await TAKE.run(this.#redis, keys, [signedAtMs, nowMs, ttlMs])) as NonceVerdict;
  }
}
