import assert from 'node:assert/strict';
import { startOwnRedis } from '#shared/testing/own-servers.ts';
import type { OwnRedis } from '#shared/testing/own-servers.ts';
import { within } from '#shared/testing/wait.ts';
import { closeRedis, connectRedis, openRedis } from './redis.ts';
import type { Redis } from './redis.ts';

describe('a connection to Redis', () => {
  let server: OwnRedis;
  let redis: Redis;
  before(async () => {
    server = await startOwnRedis();
    redis = openRedis(server, { commandTimeoutMs: 60_000 });
    await connectRedis(redis);
  });
  after(async () => {
    await closeRedis(redis);
    await server.stop();
  });

  it('fails what was not answered when it breaks, reads that wait among it, and works again', async () => {
    const reads = Promise.allSettled([redis.blpop('nothing', 50), redis.pipeline().get('a').get('b').exec()]);
    await server.kill();
    const [read] = await within(reads, { what: 'the read to fail', deadlineMs: 5_000 });
    assert.equal(read.status, 'rejected');
    await server.restart();
    await connectRedis(redis);
    assert.equal(await redis.get('a'), null);
  });
});
