import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { CACHE } from '#scripts/servers/build-once.ts';
import { makeHome } from '#scripts/servers/home.ts';
import { startRedis } from '#scripts/servers/redis.ts';
import { serverRoot } from '#scripts/servers/root.ts';
import type { Server } from '#scripts/servers/server.ts';
import { closeRedis, connectRedis, openRedis } from '#shared/platform/redis/redis.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { configureAppliance } from '../configure.ts';

/** Redis as it is rendered, with its ACL file. */
describe('the rights of services in Redis', function () {
  this.timeout(60_000);
  let home: string;
  let server: Server;
  const opened: Redis[] = [];

  before(async () => {
    home = await mkdtemp('/tmp/ima-');
    await makeHome(home);
    const file = join(home, 'appliance.yml');
    await writeFile(file, 'port: 8443\n');
    await configureAppliance({ file, home, runtime: 'process', progress: () => undefined });
    server = await start();
  });

  after(async () => {
    await Promise.all(opened.map(closeRedis));
    await server.stop();
    await rm(home, { recursive: true, force: true });
  });

  async function start(): Promise<Server> {
    return startRedis(
      { serverRoot: await serverRoot({ cache: CACHE, progress: () => undefined }), stopping: new AbortController().signal },
      {
        configFile: join(home, 'rendered/current/redis.conf'),
        dataDirectory: join(home, 'data/redis'),
        socketPath: join(home, 'run/redis.sock'),
        aclFile: join(home, 'state/redis/users.acl'),
      },
    );
  }

  async function as(user: string): Promise<Redis> {
    const password = (await readFile(join(home, 'state/redis', user), 'utf8')).trim();
    const redis = openRedis({ address: `unix:${join(home, 'run/redis.sock')}`, user, password });
    opened.push(redis);
    await connectRedis(redis);
    return redis;
  }

  it('let the message services do their work, and nothing to the server', async () => {
    for (const user of ['im_core', 'im_worker']) {
      const redis = await as(user);
      await redis.eval(`redis.call('RPUSH', KEYS[1], '1') redis.call('DEL', KEYS[1]) return 1`, 1, 'deliver:queue:0');
      assert.match(await redis.info('server'), /run_id:/);
      for (const command of ['FLUSHALL', 'FLUSHDB', 'SHUTDOWN', 'MONITOR']) await assert.rejects(redis.call(command), /NOPERM/, command);
      await assert.rejects(redis.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'), /NOPERM/);
      await assert.rejects(redis.call('KEYS', '*'), /NOPERM/);
      await assert.rejects(redis.call('ACL', 'LIST'), /NOPERM/);
    }
  });

  it('show the back office its own keys and no chat', async () => {
    const redis = await as('hotgo_admin');
    for (const key of ['im:nonce:im-server:1', 'admin:login:x', 'wake:outbox:hotgo'])
      assert.equal(await redis.set(key, '1', 'EX', 5), 'OK');
    for (const key of ['im:dialog:unread:1', 'deliver:queue:0', 'crm:im:dialog:unread:1'])
      await assert.rejects(redis.get(key), /NOPERM/, key);
    await assert.rejects(redis.eval(`return redis.call('GET', 'im:dialog:unread:1')`, 0), /NOPERM|permission/);
  });

  it('give nothing to who does not log in or knows a wrong password', async () => {
    const stranger = connect(join(home, 'run/redis.sock'));
    stranger.write('GET im:deliver:last:1\r\n');
    const [answer] = (await once(stranger, 'data')) as [Buffer];
    assert.match(answer.toString(), /^-NOAUTH/);
    stranger.destroy();
    const core = await as('im_core');
    await assert.rejects(core.call('AUTH', 'default', ''), /WRONGPASS/);
    await assert.rejects(core.call('AUTH', 'im_worker', 'wrong'), /WRONGPASS/);
  });

  it('let Redis read its own log again: what a script wrote is there after a restart', async () => {
    const core = await as('im_core');
    await core.eval(
      `redis.call('SET', KEYS[1], 'a') redis.call('RPUSH', KEYS[2], 'b', 'c') return 1`,
      2,
      'im:deliver:last:1',
      'deliver:queue:1',
    );
    await server.stop();
    server = await start();
    const again = await as('im_core');
    assert.deepEqual([await again.get('im:deliver:last:1'), await again.lrange('deliver:queue:1', 0, -1)], ['a', ['b', 'c']]);
  });
});
