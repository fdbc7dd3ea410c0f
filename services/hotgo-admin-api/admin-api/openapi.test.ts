import assert from 'node:assert/strict';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { openOutbox } from '#shared/platform/events/outbox.ts';
import { noWake } from '#shared/platform/events/wake.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { openModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import { openRedis } from '#shared/platform/redis/redis.ts';
import { describedRoutes, loosePlaces, readOpenApi, servedRoutes } from '#shared/testing/openapi.ts';
import { administratorModel } from '../domain/administrator/administrator-model.ts';
import { COMMAND_KINDS } from '../domain/command/command-kinds.ts';
import { COMMAND_STATES, commandModel } from '../domain/command/command-model.ts';
import { adminApi } from './admin-api.ts';

describe('page of the administrators HTTP API', () => {
  const page = readOpenApi(new URL('openapi.yaml', import.meta.url));
  const db = openModelDatabase({ address: 'unix:/nowhere', user: '', password: '' }, 'hotgo');
  const mounts = adminApi({
    db,
    administrators: administratorModel(db.sequelize),
    commands: commandModel(db.sequelize),
    outbox: openOutbox('admin_outbox', noWake),
    tokens: new SignedTokens({ key: Buffer.alloc(32), audience: 'x', ttlMs: 1, clock: systemClock }),
    passwords: new Passwords({ logN: 1, parallel: 1 }),
    pause: new LoginPause(openRedis({ address: 'unix:/nowhere' }), ''),
    tenants: [],
    imCore: { query: () => Promise.resolve({}) },
    log: silentLog,
  });

  it('describes exactly the routes that are served', () => {
    assert.deepEqual(describedRoutes(page), servedRoutes(mounts));
    assert.ok(servedRoutes(mounts).length > 5);
  });

  it('has no loose reference and no path parameter without a word', () => {
    assert.deepEqual(loosePlaces(page), []);
  });

  it('names the orders and states that there are', () => {
    assert.ok(page.text.includes(`enum: [${COMMAND_KINDS.map(({ eventType }) => eventType).join(', ')}]`));
    assert.ok(page.text.includes(`enum: [${COMMAND_STATES.join(', ')}]`));
  });
});
