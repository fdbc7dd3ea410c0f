import { closeRedis, connectRedis, openRedis } from '#shared/platform/redis/redis.ts';
import type { Redis, RedisLogin } from '#shared/platform/redis/redis.ts';
import { freshTenantCode } from './database-per-test.ts';
import { testServers } from './servers.ts';

export interface FreshRedis {
  /** A tenant code of its own; keys that belong to it carry it, and `close` removes every key that contains it. */
  readonly code: string;
  readonly login: RedisLogin;
  /** A connection for the test itself. */
  readonly redis: Redis;
  /** One more connection, connected, closed by `close`; blocking reads need their own. */
  connect(): Promise<Redis>;
  /** Removes the keys of `code` and closes every connection that was opened here. */
  close(): Promise<void>;
}

/** Redis with a key space of its own. Close it in `after`. */
export async function freshRedis(login: RedisLogin = testServers().redis, code = freshTenantCode()): Promise<FreshRedis> {
  const opened: Redis[] = [];
  const connect = async (): Promise<Redis> => {
    const redis = openRedis(login);
    opened.push(redis);
    await connectRedis(redis);
    return redis;
  };
  const redis = await connect();
  return {
    code,
    login,
    redis,
    connect,
    async close() {
      if (redis.status === 'ready') await removeKeys(redis, code);
      await Promise.all(opened.map((connection) => closeRedis(connection)));
    },
  };
}

async function removeKeys(redis: Redis, code: string): Promise<void> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `*${code}*`, 'COUNT', 1_000);
    if (keys.length > 0) await redis.unlink(...keys);
    cursor = next;
  } while (cursor !== '0');
}
