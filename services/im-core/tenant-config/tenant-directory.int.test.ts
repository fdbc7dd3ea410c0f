import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '#shared/contract/reasons.ts';
import type { TenantConfig } from '#shared/contract/tenant-config.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { NonceStore } from '#shared/platform/hmac/nonce-store.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { HttpServer } from '#shared/platform/http/http-server.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { ModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import { closeRedis } from '#shared/platform/redis/redis.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { tenantModel } from '../../hotgo-admin-api/domain/tenant/tenant-model.ts';
import { internalApi } from '../../hotgo-admin-api/internal-api/internal-api.ts';
import { askTenants } from './ask-tenants.ts';
import { TenantCache } from './tenant-cache.ts';
import { TenantDirectory } from './tenant-directory.ts';

const secret = Buffer.from('a secret of im-server');
const QUICK = { pollMs: 30, firstRetryMs: 10 };

describe('tenant directory', () => {
  let hotgo: FreshDatabase;
  let redis: FreshRedis;
  let db: ModelDatabase;
  let home: string;
  let backOffice: HttpServer | undefined;
  let cacheKey = '';
  let caches = 0;
  const open: TenantDirectory[] = [];

  before(async () => {
    [hotgo, redis, home] = await Promise.all([freshDatabase('hotgo'), freshRedis(), mkdtemp('/tmp/dir-')]);
    db = hotgo.openModels();
  });
  after(async () => {
    await Promise.all([hotgo.drop(), redis.close(), rm(home, { recursive: true })]);
  });
  beforeEach(async () => {
    cacheKey = `${redis.code}:tenants:${(caches += 1)}`;
    await db.change('DELETE FROM admin_tenants');
    const rows = ['default', 'acme'].map((code) => [code, `im_${code}`, 7, new Date(), new Date()]);
    await db.change('INSERT INTO admin_tenants (code, database_name, config_version, created_at, updated_at) VALUES ?', [rows]);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((directory) => directory.stop()));
    await comeBack(false);
  });

  /** hotgo-admin-api's own routes on a socket of their own, there or away. */
  async function comeBack(isThere = true): Promise<void> {
    await backOffice?.stop();
    backOffice = undefined;
    if (!isThere) return;
    const nonces = new NonceStore(redis.redis, `${redis.code}:nonce:`);
    await nonces.open(Date.now() - 60_000);
    const services = [{ name: 'im-server', allow: ['im_config' as const], keys: [{ id: 'k1', secret, notAfter: null }] }];
    const verify = { services, nonces, clock: systemClock, windowSeconds: 300 };
    const mounts = internalApi({ enabled: true, verify, db, tenants: tenantModel(db.sequelize), log: silentLog });
    backOffice = new HttpServer({ name: 'hotgo', listen: `unix:${join(home, 'hotgo.sock')}` }, createApp({ log: silentLog }, mounts));
    await backOffice.start();
  }
  const settings = { base: '', serviceName: 'im-server', secret, timeoutMs: 2_000 };
  function directoryOf(overrides: { ask?: () => Promise<readonly TenantConfig[]>; cache?: TenantCache; pollMs?: number } = {}) {
    const ask = overrides.ask ?? (() => askTenants({ ...settings, base: `unix:${join(home, 'hotgo.sock')}` }));
    const cache = overrides.cache ?? new TenantCache(redis.redis, cacheKey);
    const deps = { ask, cache, log: silentLog, metrics: new Metrics() };
    const directory = new TenantDirectory(deps, { ...QUICK, ...(overrides.pollMs === undefined ? {} : { pollMs: overrides.pollMs }) });
    open.push(directory);
    return directory;
  }
  async function asked(directory: TenantDirectory): Promise<boolean> {
    const [isAnswered] = (await within(once(directory, 'asked'), { what: 'a question to the back office' })) as [boolean];
    return isAnswered;
  }
  const set = (code: string, state: string, version: number) =>
    db.change('UPDATE admin_tenants SET state = ?, config_version = ? WHERE code = ?', [state, version, code]);
  function reason(directory: TenantDirectory, code: string): string {
    try {
      directory.assertActive(code);
      return 'served';
    } catch (error) {
      return error instanceof Refusal ? `${error.reason} ${String(error.details['state'])}` : String(error);
    }
  }

  it('learns by asking that a tenant was closed by a row of the database, tells it once, and that it is open again (ACC-07)', async () => {
    await comeBack();
    const directory = directoryOf();
    const closed: string[] = [];
    directory.on('closed', (code) => closed.push(code));
    await directory.start();
    assert.equal(await asked(directory), true);
    assert.deepEqual([reason(directory, 'default'), reason(directory, 'acme')], ['served', 'served']);
    for (const [state, version] of [
      ['disabled', 8],
      ['removed', 9],
    ] as const) {
      await set('acme', state, version);
      await eventually(() => reason(directory, 'acme') === `TENANT_DISABLED ${state}`, { what: `the tenant to be ${state}` });
    }
    assert.deepEqual([reason(directory, 'default'), closed], ['served', ['acme']]);
    await set('acme', 'active', 10);
    await eventually(() => reason(directory, 'acme') === 'served', { what: 'the tenant to be open again' });
  });

  it('serves what the settings declare while nobody answers, and takes the answer when it comes (CFG-43)', async () => {
    await set('acme', 'disabled', 8);
    const directory = directoryOf();
    await directory.start();
    assert.equal(await asked(directory), false);
    assert.deepEqual([directory.isFresh, reason(directory, 'acme')], [false, 'served']);
    await comeBack();
    await eventually(() => directory.isFresh, { what: 'an answer' });
    assert.equal(reason(directory, 'acme'), 'TENANT_DISABLED disabled');
    await comeBack(false);
    await eventually(() => !directory.isFresh, { what: 'a question without an answer' });
    assert.equal(reason(directory, 'acme'), 'TENANT_DISABLED disabled');
  });

  it('begins with the copy in Redis, so that a closed tenant stays closed over a restart without the back office (CFG-12, X-13)', async () => {
    await comeBack();
    await set('acme', 'disabled', 8);
    const first = directoryOf();
    await first.start();
    assert.equal(await asked(first), true);
    await first.stop();
    await comeBack(false);
    const second = directoryOf();
    await second.start();
    assert.deepEqual([second.isFresh, reason(second, 'acme'), reason(second, 'default')], [false, 'TENANT_DISABLED disabled', 'served']);
  });

  it('keeps the value of the higher version, here and in Redis', async () => {
    const acme = (state: TenantConfig['state'], config_version: string): TenantConfig => ({
      code: 'acme',
      state,
      db_name: 'im_acme',
      config_version,
    });
    const answers = [acme('disabled', '200'), acme('active', '199'), acme('active', '9'), acme('active', '200')];
    const seen: string[] = [];
    const directory = directoryOf({ ask: () => Promise.resolve(answers.splice(0, 1)) });
    await directory.start();
    const cache = new TenantCache(redis.redis, cacheKey);
    for (let round = 0; round < 4; round += 1) {
      await asked(directory);
      seen.push(`${reason(directory, 'acme')} ${(await cache.load())[0]?.state ?? 'nothing'}`);
    }
    const closed = 'TENANT_DISABLED disabled disabled';
    assert.deepEqual(seen, [closed, closed, closed, 'served active']);
  });

  it('goes on when it is refused, when the answer is none, and when Redis is away', async () => {
    await comeBack();
    const stranger = directoryOf({
      ask: () => askTenants({ ...settings, base: `unix:${join(home, 'hotgo.sock')}`, secret: Buffer.from('guessed') }),
    });
    await stranger.start();
    assert.deepEqual([await asked(stranger), stranger.isFresh, reason(stranger, 'acme')], [false, false, 'served']);
    await redis.redis.hset(cacheKey, 'acme', 'no JSON', 'default', '{"code":"default"}');
    const away = await redis.connect();
    await closeRedis(away);
    await set('acme', 'disabled', 8);
    for (const cache of [new TenantCache(redis.redis, cacheKey), new TenantCache(away, cacheKey)]) {
      const directory = directoryOf({ cache });
      await directory.start();
      assert.deepEqual([await asked(directory), reason(directory, 'acme')], [true, 'TENANT_DISABLED disabled']);
    }
  });

  it('ends at once while it waits for the next question', async () => {
    await comeBack();
    const directory = directoryOf({ pollMs: 600_000 });
    await directory.start();
    await asked(directory);
    await within(directory.stop(), { what: 'the end', deadlineMs: 1_000 });
  });
});
