import assert from 'node:assert/strict';
import supertest from 'supertest';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { NonceStore } from '#shared/platform/hmac/nonce-store.ts';
import { signRequest } from '#shared/platform/hmac/sign-request.ts';
import type { RequestToSign, SignedRequest } from '#shared/platform/hmac/sign-request.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { ModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import { closeRedis } from '#shared/platform/redis/redis.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { tenantModel } from '../domain/tenant/tenant-model.ts';
import { internalApi } from './internal-api.ts';

const secret = Buffer.from('a secret of im-server');
const ACME = { code: 'acme', state: 'disabled', db_name: 'im_acme', config_version: '9007199254740993' };
const DEFAULT = { code: 'default', state: 'active', db_name: 'im_default', config_version: '1' };

describe('configuration for im-core', () => {
  let hotgo: FreshDatabase;
  let redis: FreshRedis;
  let db: ModelDatabase;

  before(async () => {
    [hotgo, redis] = await Promise.all([freshDatabase('hotgo'), freshRedis()]);
    db = hotgo.openModels();
    for (const { code, db_name, state, config_version } of [DEFAULT, ACME]) {
      const row = [code, db_name, state, config_version, new Date(), new Date()];
      await db.change('INSERT INTO admin_tenants (code, database_name, state, config_version, created_at, updated_at) VALUES ?', [[row]]);
    }
    await nonces().open(Date.now() - 400_000);
  });
  after(async () => {
    await Promise.all([hotgo.drop(), redis.close()]);
  });
  beforeEach(() => db.change('DELETE FROM admin_internal_audit'));

  const nonces = (): NonceStore => new NonceStore(redis.redis, `${redis.code}:nonce:`);
  function appOf(overrides: { enabled?: boolean; nonces?: NonceStore } = {}): ReturnType<typeof createApp> {
    const services = [
      { name: 'im-server', allow: ['im_config' as const], keys: [{ id: 'k1', secret, notAfter: null }] },
      { name: 'mes', allow: ['alarm' as const], keys: [{ id: 'm1', secret: Buffer.from('another'), notAfter: null }] },
    ];
    const verify = { services, nonces: overrides.nonces ?? nonces(), clock: systemClock, windowSeconds: 300 };
    const deps = { enabled: overrides.enabled ?? true, verify, db, tenants: tenantModel(db.sequelize), log: silentLog };
    return createApp({ log: silentLog }, internalApi(deps));
  }
  const sign = (path: string, overrides: Partial<RequestToSign> = {}): SignedRequest =>
    signRequest({ service: 'im-server', secret, method: 'GET', target: `/internal/im-config${path}`, ...overrides });

  async function send({ target, headers }: SignedRequest, app = appOf()) {
    const response = await supertest(app).get(target).set(headers).set('x-real-ip', '10.0.0.9');
    const { data } = response.body as { data: Record<string, unknown> };
    return { status: response.status, reason: data['reason'], data };
  }
  const audits = () =>
    db.select<{ service: Buffer; key_id: Buffer; path: Buffer; status: number; outcome: Buffer; real_ip: Buffer; request_id: Buffer }>(
      'SELECT * FROM admin_internal_audit ORDER BY id',
    );
  const outcomes = async () => (await audits()).map((row) => `${row.status} ${row.outcome.toString()}`);

  it('tells a tenant in both sets of paths, with nothing in it but what im-core needs (CFG-20, CFG-30, CFG-41, ACC-07)', async () => {
    for (const path of ['/tenants/acme', '/tenants/by-code/acme']) assert.deepEqual((await send(sign(path))).data, ACME);
    assert.deepEqual((await send(sign('/tenants/by-code/default'))).data, DEFAULT);
    for (const absent of ['/tenants/nobody', '/tenants/by-code/ACME', '/tenants/by-code/%25', '/tenants/by-id/1', '/tenants/acme/limits'])
      assert.deepEqual([(await send(sign(absent))).status], [404], absent);
  });

  it('lists tenants, all or of one state, as many as were asked for (CFG-32)', async () => {
    assert.deepEqual((await send(sign('/tenants'))).data, { tenants: [ACME, DEFAULT] });
    assert.deepEqual((await send(sign('/tenants?state=active&limit=1000'))).data, { tenants: [DEFAULT] });
    assert.deepEqual((await send(sign('/tenants?limit=1'))).data, { tenants: [ACME] });
    for (const wrong of ['?state=open', '?limit=0', '?limit=1001', '?limit=all', '?limit=1&limit=2', '?dsn=1'])
      assert.deepEqual((await send(sign(`/tenants${wrong}`))).reason, 'INVALID_ARGUMENT', wrong);
  });

  const wrongSignatures: readonly [string, string][] = [
    ['odd', 'abc'],
    ['not hex', `zz${'0'.repeat(62)}`],
    ['multibyte', Buffer.from(`é${'0'.repeat(63)}`).toString('latin1')],
    ['empty', ''],
  ];
  for (const [what, signature] of wrongSignatures) {
    it(`answers 401 to a signature that is ${what}, and notes it (E11)`, async () => {
      const { target, headers } = sign('/tenants');
      const reply = await send({ target, headers: { ...headers, 'x-signature': signature } });
      assert.deepEqual([reply.status, reply.reason], [401, 'SIGNATURE_INVALID']);
      assert.deepEqual(await outcomes(), ['401 SIGNATURE_INVALID']);
    });
  }

  it('refuses what is unsigned, stale, replayed, forged or changed on the way, and writes down every call (SIG-05..12, SIG-16)', async () => {
    assert.equal((await send({ target: '/internal/im-config/tenants', headers: {} })).reason, 'SIGNATURE_MISSING');
    assert.equal((await send(sign('/tenants', { nowMs: Date.now() - 302_000 }))).reason, 'TIMESTAMP_OUT_OF_WINDOW');
    assert.equal((await send(sign('/tenants', { secret: Buffer.from('guessed') }))).reason, 'SIGNATURE_INVALID');
    assert.equal((await send(sign('/tenants', { service: 'hotgo-admin' }))).reason, 'SIGNATURE_INVALID');
    const signed = sign('/tenants', { requestId: 'poll-1' });
    assert.equal((await send(signed)).status, 200);
    assert.equal((await send(signed)).reason, 'NONCE_REPLAYED');
    assert.equal((await send({ ...sign('/tenants'), target: '/internal/im-config/tenants?limit=1' })).reason, 'SIGNATURE_INVALID');
    assert.deepEqual(await outcomes(), [
      '401 SIGNATURE_MISSING',
      '401 TIMESTAMP_OUT_OF_WINDOW',
      '401 SIGNATURE_INVALID',
      '401 SIGNATURE_INVALID',
      '200 ',
      '401 NONCE_REPLAYED',
      '401 SIGNATURE_INVALID',
    ]);
    const accepted = (await audits()).find(({ status }) => status === 200);
    assert.deepEqual([accepted?.service, accepted?.key_id, accepted?.path, accepted?.real_ip, accepted?.request_id].map(String), [
      'im-server',
      'k1',
      '/internal/im-config/tenants',
      '10.0.0.9',
      'poll-1',
    ]);
  });

  it('asks for no operator, but for a service that may read configuration (CFG-42, SIG-15)', async () => {
    const reply = await send(sign('/tenants', { service: 'mes', secret: Buffer.from('another') }));
    assert.deepEqual([reply.status, reply.reason], [403, 'SERVICE_NOT_ALLOWED']);
    assert.deepEqual(await outcomes(), ['403 SERVICE_NOT_ALLOWED']);
  });

  it('only reads, and does not exist while it is switched off (CFG-40)', async () => {
    for (const method of ['post', 'put', 'delete'] as const) {
      const signed = sign('/tenants/acme', { method: method.toUpperCase() });
      assert.equal((await supertest(appOf())[method](signed.target).set(signed.headers)).status, 404, method);
    }
    assert.deepEqual((await send(sign('/tenants'), appOf({ enabled: false }))).status, 404);
  });

  it('refuses with 503 while nonces cannot be kept, and answers nothing that it cannot write down', async () => {
    const away = await redis.connect();
    await closeRedis(away);
    const reply = await send(sign('/tenants'), appOf({ nonces: new NonceStore(away, 'x:') }));
    assert.deepEqual([reply.status, reply.reason], [503, 'BUSY']);
    await db.change('RENAME TABLE admin_internal_audit TO away');
    try {
      const unwritten = await send(sign('/tenants'));
      assert.deepEqual([unwritten.status >= 500, unwritten.data['tenants']], [true, undefined]);
    } finally {
      await db.change('RENAME TABLE away TO admin_internal_audit');
    }
  });
});
