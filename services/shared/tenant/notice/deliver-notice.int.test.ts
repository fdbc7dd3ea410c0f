import assert from 'node:assert/strict';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { DialogLists } from '../deliver/dialog-lists.ts';
import { Epoch } from '../deliver/epoch.ts';
import { Keys, processInboxKey } from '../dialog/keys.ts';
import { bindDevice } from '../presence/presence-store.ts';
import { deliverNotice } from './deliver-notice.ts';
import type { DeliverNoticeDeps } from './deliver-notice.ts';

describe('deliverNotice', () => {
  let database: FreshDatabase;
  let server: FreshRedis;
  let deps: DeliverNoticeDeps;
  const kick = { kind: 'KICK', conversationId: 0n, userId: 7n, excludeDevice: 0n, payload: '{"reason":"ACCOUNT_SUSPENDED"}' } as const;

  before(async () => {
    [database, server] = await Promise.all([freshDatabase('tenant'), freshRedis()]);
    const base = `${server.code}:`;
    const { redis } = server;
    const keys = new Keys('default', base);
    const lists = new DialogLists({ redis, epoch: new Epoch(redis, base), keys, base });
    deps = { tenant: 'default', db: database.open(), redis, lists, base };
    await bindDevice({ redis, keys, processId: 'p' }, { userId: 7n, deviceId: 1n, connectionId: 'c1' });
  });
  after(() => Promise.all([database.drop(), server.close()]));

  it('fails while the inbox of a process is full, so that its row is tried again (OBX-14)', async () => {
    const inbox = processInboxKey(deps.base, 'p');
    await server.redis.rpush(inbox, ...Array<string>(10_000).fill('waiting'));
    await assert.rejects(deliverNotice(deps, kick), /inbox/);
    await server.redis.lpop(inbox);
    assert.equal(await deliverNotice(deps, kick), 1);
    assert.match((await server.redis.lindex(inbox, -1)) ?? '', /ACCOUNT_SUSPENDED/);
  });
});
