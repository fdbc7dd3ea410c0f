import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import { HandClock } from '#shared/platform/clock/clock.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { verifyAccessToken } from './authenticate.ts';
import { endDeviceSession, logIn, refreshSession } from './log-in.ts';
import type { LoginDeps } from './log-in.ts';
import { registerUser } from './register-user.ts';

const passwords = new Passwords({ logN: 4, parallel: 1 });
const PASSWORD = 'correct horse';

describe('accounts and sessions', () => {
  let fresh: FreshDatabase;
  let redis: FreshRedis;
  let db: Database;
  let deps: LoginDeps;
  let lastId = 1_000n;
  let addresses = 0;
  let isClosed = false;
  const clock = new HandClock(Date.now());
  const ids = { next: () => (lastId += 1n) };

  before(async () => {
    [fresh, redis] = await Promise.all([freshDatabase('tenant'), freshRedis()]);
    db = fresh.open();
    const tokens = new SignedTokens({ key: Buffer.alloc(32, 1), audience: 'im', ttlMs: 900_000, clock });
    const pause = new LoginPause(redis.redis, `${redis.code}:login:`);
    const assertTenant = (): void => {
      if (isClosed) throw new Refusal('TENANT_DISABLED');
    };
    deps = { tokens, passwords, pause, clock, databases: new Map([['default', db]]), refreshTtlMs: 60_000, assertTenant };
  });
  after(async () => {
    await Promise.all([fresh.drop(), redis.close()]);
  });

  const register = (name: string, registration: 'open' | 'closed' = 'open') =>
    registerUser({ db, ids, passwords, registration }, { name, password: PASSWORD });
  const login = (name: string, more: Partial<Parameters<typeof logIn>[1]> = {}) =>
    logIn(deps, { tenant: 'default', name, password: PASSWORD, deviceId: 7n, platform: 'test', realIp: freshAddress(), ...more });
  const freshAddress = () => `10.0.${Math.floor((addresses += 1) / 250)}.${addresses % 250}`;
  const reason = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      (error: unknown) => (error instanceof Refusal ? error.reason : String(error)),
    );

  it('registers a name once, whatever its case (G-15)', async () => {
    const { userId } = await register('Anna');
    assert.ok(userId > 1_000n);
    assert.equal(await reason(register('anna')), 'NAME_TAKEN');
    assert.equal(await reason(register('ännä')), 'accepted');
    assert.equal(await reason(register('closed', 'closed')), 'REGISTRATION_CLOSED');
  });

  it('refuses names and passwords that are none', async () => {
    for (const name of ['', '_x', 'a b', 'svc-x', 'SVC-hotgo', 'x'.repeat(65), 'a\u0000b']) {
      assert.equal(await reason(register(name)), 'INVALID_ARGUMENT', name);
    }
    assert.equal(
      await reason(registerUser({ db, ids, passwords, registration: 'open' }, { name: 'short', password: '1234567' })),
      'INVALID_ARGUMENT',
    );
  });

  it('lets two who register one name at once share no account', async () => {
    const outcomes = await Promise.all([reason(register('twins')), reason(register('Twins'))]);
    assert.deepEqual(outcomes.sort(), ['NAME_TAKEN', 'accepted']);
  });

  it('logs in, and the token names tenant, user, device and versions (G-14)', async () => {
    const { userId } = await register('bert');
    const session = await login('BERT');
    const identity = await verifyAccessToken(deps, session.accessToken);
    assert.deepEqual(identity, { tenant: 'default', userId, deviceId: 7n, authVersion: 1n, deviceVersion: 1n });
  });

  it('tells nobody whether tenant, name or password was wrong', async () => {
    await register('carl');
    assert.equal(await reason(login('carl', { password: 'wrong password' })), 'UNAUTHORIZED');
    assert.equal(await reason(login('nobody')), 'UNAUTHORIZED');
    assert.equal(await reason(login('carl', { tenant: 'elsewhere' })), 'UNAUTHORIZED');
  });

  it('lets nobody of a closed tenant in, and tells only who knows the password (TENANT_DISABLED)', async () => {
    await register('carla');
    const session = await login('carla');
    isClosed = true;
    try {
      assert.equal(await reason(login('carla', { password: 'wrong password' })), 'UNAUTHORIZED');
      assert.equal(await reason(login('carla')), 'TENANT_DISABLED');
      assert.equal(await reason(refreshSession(deps, session.refreshToken)), 'TENANT_DISABLED');
      assert.equal(await reason(verifyAccessToken(deps, session.accessToken)), 'TENANT_DISABLED');
    } finally {
      isClosed = false;
    }
    assert.equal(await reason(refreshSession(deps, session.refreshToken)), 'accepted');
  });

  it('never logs a service user in (X-53)', async () => {
    await db.change(
      `INSERT INTO t_users (id, name, display_name, kind, password_hash, created_at, updated_at) VALUES (1, 'svc-hotgo', '', 2, '', NOW(3), NOW(3))`,
    );
    assert.equal(await reason(login('svc-hotgo', { password: '' })), 'UNAUTHORIZED');
  });

  it('pauses a name after five wrong passwords, even for the right one, and clears it after a good login', async () => {
    await register('dora');
    for (let wrong = 0; wrong < 4; wrong += 1) await reason(login('dora', { password: 'wrong password' }));
    assert.equal(await reason(login('dora')), 'accepted');
    for (let wrong = 0; wrong < 5; wrong += 1) assert.equal(await reason(login('dora', { password: 'wrong password' })), 'UNAUTHORIZED');
    const refusal = await login('Dora').catch((error: unknown) => error);
    assert.ok(refusal instanceof Refusal);
    assert.equal(refusal.reason, 'RATE_LIMITED');
    const waitMs = Number(refusal.details['retry_after_ms']);
    assert.ok(waitMs > 50_000 && waitMs <= 60_000, String(waitMs));
  });

  it('pauses an address after five wrong passwords for any names', async () => {
    await register('emil');
    for (let wrong = 0; wrong < 5; wrong += 1) await reason(login(`guess${wrong}`, { realIp: '192.0.2.1' }));
    assert.equal(await reason(login('emil', { realIp: '192.0.2.1' })), 'RATE_LIMITED');
    assert.equal(await reason(login('emil', { realIp: '192.0.2.2' })), 'accepted');
  });

  it('gives a burst of guesses no more than five and the few that were running', async () => {
    await register('fritz');
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => reason(login('fritz', { password: 'wrong password' }))));
    assert.ok(outcomes.filter((outcome) => outcome === 'UNAUTHORIZED').length <= 6, outcomes.join());
  });

  it('lets nobody in without Redis', async () => {
    const away = await redis.connect();
    away.disconnect();
    const pause = new LoginPause(away, 'x:');
    await register('gerd');
    assert.equal(
      await reason(
        logIn({ ...deps, pause }, { tenant: 'default', name: 'gerd', password: PASSWORD, deviceId: 1n, platform: 'x', realIp: 'unknown' }),
      ),
      'BUSY',
    );
  });

  it('changes a refresh token for a new pair, once', async () => {
    await register('hans');
    const first = await login('hans');
    const second = await refreshSession(deps, first.refreshToken);
    assert.notEqual(second.refreshToken, first.refreshToken);
    assert.equal(await reason(verifyAccessToken(deps, second.accessToken)), 'accepted');
    assert.equal(await reason(refreshSession(deps, second.refreshToken)), 'accepted');
  });

  it('ends the session when a used refresh token comes again', async () => {
    await register('iris');
    const first = await login('iris');
    const other = await login('iris', { deviceId: 8n });
    const second = await refreshSession(deps, first.refreshToken);
    assert.equal(await reason(refreshSession(deps, first.refreshToken)), 'UNAUTHORIZED');
    assert.equal(await reason(refreshSession(deps, second.refreshToken)), 'UNAUTHORIZED');
    assert.equal(await reason(verifyAccessToken(deps, second.accessToken)), 'UNAUTHORIZED');
    assert.equal(await reason(verifyAccessToken(deps, other.accessToken)), 'accepted');
    assert.equal(await reason(login('iris')), 'accepted');
  });

  it('lets one of two refreshes at once win, and takes the second for theft', async () => {
    await register('jana');
    const { refreshToken } = await login('jana');
    const outcomes = await Promise.all([reason(refreshSession(deps, refreshToken)), reason(refreshSession(deps, refreshToken))]);
    assert.deepEqual(outcomes.sort(), ['UNAUTHORIZED', 'accepted']);
  });

  it('refuses refresh tokens that ended, are of an earlier login, or are none', async () => {
    await register('kurt');
    const earlier = await login('kurt');
    const { refreshToken } = await login('kurt');
    assert.equal(await reason(refreshSession(deps, earlier.refreshToken)), 'UNAUTHORIZED');
    clock.step(60_001);
    assert.equal(await reason(refreshSession(deps, refreshToken)), 'UNAUTHORIZED');
    clock.step(-60_001);
    for (const text of ['', 'default', `default.${'a'.repeat(43)}`, `elsewhere.${'a'.repeat(43)}`]) {
      assert.equal(await reason(refreshSession(deps, text)), 'UNAUTHORIZED');
    }
  });

  it('refuses every token of a user whose version was raised, of a suspended and of a deleted one (USR-03, USR-07)', async () => {
    const { userId } = await register('lena');
    const session = await login('lena');
    const set = (column: string) => db.change(`UPDATE t_users SET ${column} WHERE id = ?`, [userId]);
    const bothReasons = async () => [
      await reason(verifyAccessToken(deps, session.accessToken)),
      await reason(refreshSession(deps, session.refreshToken)),
    ];
    await set('state = 2');
    assert.deepEqual(await bothReasons(), ['ACCOUNT_SUSPENDED', 'ACCOUNT_SUSPENDED']);
    assert.equal(await reason(login('lena')), 'ACCOUNT_SUSPENDED');
    await set('state = 3');
    assert.deepEqual(await bothReasons(), ['UNAUTHORIZED', 'UNAUTHORIZED']);
    await set('state = 1, auth_version = 2');
    assert.deepEqual(await bothReasons(), ['UNAUTHORIZED', 'UNAUTHORIZED']);
  });

  it('ends one device and leaves the others', async () => {
    const { userId } = await register('mara');
    const [one, other] = [await login('mara', { deviceId: 1n }), await login('mara', { deviceId: 2n })];
    await db.transaction((tx) => endDeviceSession(tx, userId, 1n));
    assert.equal(await reason(verifyAccessToken(deps, one.accessToken)), 'UNAUTHORIZED');
    assert.equal(await reason(refreshSession(deps, one.refreshToken)), 'UNAUTHORIZED');
    assert.equal(await reason(verifyAccessToken(deps, other.accessToken)), 'accepted');
  });
});
