import assert from 'node:assert/strict';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { Keys } from '../dialog/keys.ts';
import { bindDevice, refreshDevice, unbindDevice } from './presence-store.ts';
import type { PresenceDeps } from './presence-store.ts';

describe('presence', () => {
  let server: FreshRedis;
  let deps: PresenceDeps;
  const device = (deviceId: bigint, connectionId: string) => ({ userId: 7n, deviceId, connectionId });

  before(async () => {
    server = await freshRedis();
    deps = { redis: server.redis, keys: new Keys('default', `${server.code}:`), processId: 'p' };
  });
  beforeEach(() => server.redis.del(deps.keys.presence(7n)));
  after(() => server.close());

  it('lets the newest connection of a device win, in whatever order they come (SES-14)', async () => {
    assert.equal(await bindDevice(deps, device(1n, 'c2')), true);
    assert.equal(await bindDevice(deps, device(1n, 'c1')), false);
    assert.equal(await refreshDevice(deps, device(1n, 'c1')), 'REPLACED');
    await unbindDevice(deps, device(1n, 'c1'));
    assert.equal(await refreshDevice(deps, device(1n, 'c2')), 'OK');
  });

  it('says LAPSED to a device whose own entry ran out while another device of its user kept the key (SES-14)', async () => {
    await bindDevice(deps, device(1n, 'c1'));
    await bindDevice(deps, device(2n, 'c2'));
    await server.redis.hset(deps.keys.presence(7n), '1', `p|c1|${String(Date.now() - 1)}`);
    assert.equal(await refreshDevice(deps, device(1n, 'c1')), 'LAPSED');
    assert.equal(await refreshDevice(deps, device(1n, 'c1')), 'OK');
    await server.redis.hset(deps.keys.presence(7n), '1', `p|c3|${String(Date.now() - 1)}`);
    assert.equal(await refreshDevice(deps, device(1n, 'c1')), 'REPLACED'); // c3 is the newer one, late or not
  });
});
