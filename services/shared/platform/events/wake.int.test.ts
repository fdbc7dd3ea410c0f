import assert from 'node:assert/strict';
import { startOwnRedis } from '#shared/testing/own-servers.ts';
import type { OwnRedis } from '#shared/testing/own-servers.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { closeRedis, connectRedis, openRedis } from '../redis/redis.ts';
import { redisWake, WakeListener } from './wake.ts';

describe('wake-ups', () => {
  let redis: OwnRedis;

  before(async () => {
    redis = await startOwnRedis();
  });
  after(() => redis.stop());

  it('end a sleep at once, and a sleep ends by itself also while Redis hangs', async () => {
    const listener = new WakeListener(redis, 'wake:x');
    const writer = openRedis(redis);
    await connectRedis(writer);
    listener.start();
    try {
      await eventually(
        () => {
          redisWake(writer)('wake:x');
          return listener.sleep(1_000);
        },
        { what: 'a wake-up' },
      );
      redis.pause();
      const nap = async (): Promise<boolean> => within(listener.sleep(100), { what: 'the end of a short sleep', deadlineMs: 6_000 });
      assert.equal(await nap(), false);
      assert.equal(await nap(), false);
      redis.resume();
      await eventually(
        () => {
          redisWake(writer)('wake:x');
          return listener.sleep(5_000);
        },
        { what: 'a wake-up when Redis is back' },
      );
    } finally {
      redis.resume();
      await listener.stop();
      await closeRedis(writer);
    }
  });
});
