import assert from 'node:assert/strict';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { openRedis } from '#shared/platform/redis/redis.ts';
import { describedRoutes, loosePlaces, readOpenApi, servedRoutes } from '#shared/testing/openapi.ts';
import { publicApi } from './public-api.ts';
import { HttpLimits } from './rate-limits.ts';

describe('page of the client HTTP API', () => {
  const page = readOpenApi(new URL('openapi.yaml', import.meta.url));
  const mounts = publicApi({
    login: {
      databases: new Map(),
      assertTenant: () => undefined,
      clock: systemClock,
      refreshTtlMs: 1,
      tokens: new SignedTokens({ key: Buffer.alloc(32), audience: 'x', ttlMs: 1, clock: systemClock }),
      passwords: new Passwords({ logN: 1, parallel: 1 }),
      pause: new LoginPause(openRedis({ address: 'unix:/nowhere' }), ''),
    },
    registration: 'closed',
    limits: new HttpLimits({ auth_per_second: 1, history_per_minute: 1 }),
    ids: { next: () => 1n },
    log: silentLog,
    enqueue: () => Promise.resolve(),
    wakeNotices: () => undefined,
  });

  it('describes exactly the routes that are served', () => {
    assert.deepEqual(describedRoutes(page), servedRoutes(mounts));
    assert.ok(servedRoutes(mounts).length > 10);
  });

  it('has no loose reference and no path parameter without a word', () => {
    assert.deepEqual(loosePlaces(page), []);
  });
});
