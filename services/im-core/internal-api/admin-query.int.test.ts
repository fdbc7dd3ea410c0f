import assert from 'node:assert/strict';
import supertest from 'supertest';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { NonceStore } from '#shared/platform/hmac/nonce-store.ts';
import { signRequest } from '#shared/platform/hmac/sign-request.ts';
import type { RequestToSign } from '#shared/platform/hmac/sign-request.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { closeRedis } from '#shared/platform/redis/redis.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { createGroup } from '#shared/tenant/group/create-group.ts';
import { insertUser } from '#shared/tenant/user/user-store.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { internalApi } from './internal-api.ts';

const secret = Buffer.from('a secret of hotgo');
const OPERATOR: OperatorContext = {
  adminUserId: '1',
  adminRole: 'super_admin',
  adminPermissions: ['group.read'],
  tenantCode: 'default',
  reason: 'ticket 42',
};

describe('admin query', () => {
  let fresh: FreshDatabase;
  let other: FreshDatabase;
  let redis: FreshRedis;
  let db: Database;
  let topic: string;
  let lastId = 9_007_199_254_740_992n;
  const ids = { next: (above = 0n) => (lastId = (lastId > above ? lastId : above) + 1n) };

  before(async () => {
    [fresh, other, redis] = await Promise.all([freshDatabase('tenant'), freshDatabase('tenant'), freshRedis()]);
    db = fresh.open();
    for (let id = 101n; id < 106n; id += 1n) await insertUser(db, { userId: id, name: `user${id}`, displayName: '', passwordHash: '' });
    const id = await createGroup(
      { db, tenant: 'default', ids, enqueue: () => Promise.resolve() },
      { ownerId: 101n, name: 'Shift A', memberIds: [102n, 103n, 104n, 105n] },
    );
    topic = `grp${id}`;
    await db.change('UPDATE t_conversation_members SET role = 2 WHERE user_id = 102');
    await nonces().open(Date.now() - 400_000);
  });
  after(async () => {
    await Promise.all([fresh.drop(), other.drop(), redis.close()]);
  });
  beforeEach(() => db.change('DELETE FROM im_internal_query_audit'));

  const nonces = () => new NonceStore(redis.redis, `${redis.code}:nonce:`);
  function appOf(overrides: { enabled?: boolean; nonces?: NonceStore } = {}): ReturnType<typeof createApp> {
    const services = [
      { name: 'hotgo-admin', allow: ['admin_query' as const], keys: [{ id: 'k1', secret, notAfter: null }] },
      { name: 'mes', allow: ['alarm' as const], keys: [{ id: 'm1', secret: Buffer.from('another'), notAfter: null }] },
    ];
    const verify = { services, nonces: overrides.nonces ?? nonces(), clock: systemClock, windowSeconds: 300 };
    const databases = new Map([
      ['default', db],
      ['second', other.open(1)],
    ]);
    return createApp({ log: silentLog }, internalApi({ enabled: overrides.enabled ?? true, verify, databases, log: silentLog }));
  }

  const path = (of = topic, tenant = 'default') => `/internal/admin-query/tenants/${tenant}/groups/${of}`;
  const sign = (target: string, overrides: Partial<RequestToSign> = {}) =>
    signRequest({ service: 'hotgo-admin', secret, method: 'GET', target, operator: OPERATOR, ...overrides });
  type Signed = ReturnType<typeof signRequest>;

  async function send(
    { target, headers }: Signed,
    app = appOf(),
  ): Promise<{ status: number; reason: unknown; data: Record<string, unknown> }> {
    const response = await supertest(app).get(target).set(headers).set('x-real-ip', '10.0.0.9');
    const { data } = response.body as { data: Record<string, unknown> };
    return { status: response.status, reason: data['reason'], data };
  }
  const audits = () =>
    db.select<{ service: Buffer; key_id: Buffer; admin_user_id: Buffer; reason: string; status: number; outcome: Buffer }>(
      'SELECT * FROM im_internal_query_audit ORDER BY id',
    );
  const outcomes = async () => (await audits()).map((row) => `${row.status} ${row.outcome.toString()}`);

  it('shows a group and how it is governed, ids as texts, and notes who asked why (QRY-03, QRY-19)', async () => {
    const { status, data } = await send(sign(path()));
    assert.equal(status, 200);
    assert.deepEqual(
      [data['topic'], data['owner_id'], data['member_count'], data['version'], data['governance']],
      [topic, 'usr101', 5, 1, { mute_all: false, join_approval: false, member_invite: true }],
    );
    const [row] = await audits();
    assert.deepEqual(
      [row?.service.toString(), row?.key_id.toString(), row?.admin_user_id.toString(), row?.reason, row?.status, row?.outcome.toString()],
      ['hotgo-admin', 'k1', '1', 'ticket 42', 200, ''],
    );
  });

  const wrongSignatures: readonly [string, string][] = [
    ['odd', 'abc'],
    ['not hex', `zz${'0'.repeat(62)}`],
    ['multibyte', Buffer.from(`é${'0'.repeat(63)}`).toString('latin1')],
    ['empty', ''],
  ];
  for (const [what, signature] of wrongSignatures) {
    it(`answers 401 to a signature that is ${what}, and notes it (E11)`, async () => {
      const { target, headers } = sign(path());
      const reply = await send({ target, headers: { ...headers, 'x-signature': signature } });
      assert.deepEqual([reply.status, reply.reason], [401, 'SIGNATURE_INVALID']);
      assert.deepEqual(await outcomes(), ['401 SIGNATURE_INVALID']);
    });
  }

  it('refuses what is unsigned, stale, replayed or changed on the way (SIG-05..12)', async () => {
    assert.equal((await send({ target: path(), headers: {} })).reason, 'SIGNATURE_MISSING');
    assert.equal((await send(sign(path(), { nowMs: Date.now() - 302_000 }))).reason, 'TIMESTAMP_OUT_OF_WINDOW');
    const signed = sign(path());
    assert.equal((await send(signed)).status, 200);
    assert.equal((await send(signed)).reason, 'NONCE_REPLAYED');
    const changed = sign(path());
    assert.equal((await send({ ...changed, target: `${changed.target}&limit=1` })).reason, 'SIGNATURE_INVALID');
    assert.deepEqual(await outcomes(), [
      '401 SIGNATURE_MISSING',
      '401 TIMESTAMP_OUT_OF_WINDOW',
      '200 ',
      '401 NONCE_REPLAYED',
      '401 SIGNATURE_INVALID',
    ]);
  });

  it('lets exactly one of many equal requests in', async () => {
    const signed = sign(path());
    const app = appOf();
    const replies = await Promise.all(Array.from({ length: 8 }, () => send(signed, app)));
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
  });

  it('needs the operator, bound to the signature, of this tenant and with this permission (QRY-17, QRY-18)', async () => {
    const anonymous = { service: 'hotgo-admin', secret, method: 'GET', target: path() };
    assert.equal((await send(signRequest(anonymous))).reason, 'OPERATOR_CONTEXT_INVALID');
    const signed = sign(path());
    const raised = sign(path(), { operator: { ...OPERATOR, adminPermissions: ['everything'] } });
    assert.equal(
      (await send({ ...signed, headers: { ...signed.headers, 'x-admin-context': raised.headers['x-admin-context'] ?? '' } })).reason,
      'OPERATOR_CONTEXT_INVALID',
    );
    assert.equal((await send(sign(path(), { operator: { ...OPERATOR, tenantCode: 'second' } }))).reason, 'FORBIDDEN');
    assert.equal((await send(sign(path(), { operator: { ...OPERATOR, adminPermissions: [] } }))).reason, 'FORBIDDEN');
    assert.equal(
      (await send(sign(path(topic, 'second'), { operator: { ...OPERATOR, tenantCode: 'second' } }))).reason,
      'RESOURCE_NOT_FOUND',
    );
    assert.deepEqual(await outcomes(), ['401 OPERATOR_CONTEXT_INVALID', '401 OPERATOR_CONTEXT_INVALID', '403 FORBIDDEN', '403 FORBIDDEN']);
  });

  it('answers 403 outside the allow-list, and 404 or 400 for no group (SIG-15)', async () => {
    const reply = await send(sign(path(), { service: 'mes', secret: Buffer.from('another') }));
    assert.deepEqual([reply.status, reply.reason], [403, 'SERVICE_NOT_ALLOWED']);
    assert.equal((await send(sign(path('grp5')))).reason, 'RESOURCE_NOT_FOUND');
    for (const wrong of ['usr5', 'grp', 'grp9223372036854775808', 'grp-1'])
      assert.equal((await send(sign(path(wrong)))).reason, 'INVALID_ARGUMENT', wrong);
    assert.equal(
      (await send(sign(path(topic, 'nowhere'), { operator: { ...OPERATOR, tenantCode: 'nowhere' } }))).reason,
      'RESOURCE_NOT_FOUND',
    );
  });

  it('refuses with 503 while nonces cannot be kept (X-51)', async () => {
    const away = await redis.connect();
    await closeRedis(away);
    const reply = await send(sign(path()), appOf({ nonces: new NonceStore(away, 'x:') }));
    assert.deepEqual([reply.status, reply.reason], [503, 'BUSY']);
  });

  it('refuses what was signed before the nonces were lost, and goes on with what is signed after', async () => {
    const lost = new NonceStore(redis.redis, `${redis.code}:lost:`);
    const before = sign(path(), { nowMs: Date.now() - 2_000 });
    assert.equal((await send(before, appOf({ nonces: lost }))).reason, 'TIMESTAMP_OUT_OF_WINDOW');
    assert.equal((await send(sign(path(), { nowMs: Date.now() + 1_000 }), appOf({ nonces: lost }))).status, 200);
  });

  it('does not exist while it is switched off, and knows no other method (QRY-01, QRY-11)', async () => {
    const reply = await send(sign(path()), appOf({ enabled: false }));
    assert.deepEqual([reply.status, reply.reason], [404, 'RESOURCE_NOT_FOUND']);
    const posted = await supertest(appOf())
      .post(path())
      .set(sign(path(), { method: 'POST' }).headers);
    assert.equal(posted.status, 404);
  });

  it('pages through members, by role, by who could get a role, and by name (QRY-04, G-31)', async () => {
    const page = async (query: string) => {
      const { data } = await send(sign(`${path()}/members${query}`));
      return { ids: (data['members'] as { user_id: string }[]).map((member) => member.user_id), next: data['next_cursor'] };
    };
    const first = await page('?limit=2');
    assert.deepEqual(first.ids, ['usr101', 'usr102']);
    const second = await page(`?limit=3&cursor=${String(first.next)}`);
    assert.deepEqual([second.ids, second.next], [['usr103', 'usr104', 'usr105'], null]);
    assert.deepEqual((await page('?role=owner')).ids, ['usr101']);
    assert.deepEqual((await page('?eligible_role=admin')).ids, ['usr103', 'usr104', 'usr105']);
    assert.deepEqual((await page('?eligible_role=admin&role=owner')).ids, []);
    assert.deepEqual((await page('?q=user104')).ids, ['usr104']);
    assert.equal((await send(sign(`${path()}/members?role=king`))).reason, 'INVALID_ARGUMENT');
    assert.equal((await send(sign(`${path()}/members?cursor=%21`))).reason, 'INVALID_ARGUMENT');
  });
});
