import assert from 'node:assert/strict';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { queueDepth } from './queue-depth.ts';

describe('depth of the delivery queue', () => {
  let redis: FreshRedis;

  before(async () => {
    redis = await freshRedis();
  });
  after(() => redis.close());

  it('counts what waits in all shards and what this process has taken, and nothing of another one (OBS-06)', async () => {
    const base = `${redis.code}:`;
    assert.deepEqual(await queueDepth(redis.redis, 'me', base), { waiting: 0, processing: 0 });
    await redis.redis.rpush(`${base}deliver:queue:0`, 'a', 'b');
    await redis.redis.rpush(`${base}deliver:queue:63`, 'c');
    await redis.redis.rpush(`${base}deliver:processing:63:me`, 'd');
    await redis.redis.rpush(`${base}deliver:processing:63:other`, 'e');
    assert.deepEqual(await queueDepth(redis.redis, 'me', base), { waiting: 3, processing: 1 });
  });
});
