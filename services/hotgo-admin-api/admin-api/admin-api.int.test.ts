import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';
import supertest from 'supertest';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { noWake } from '#shared/platform/events/wake.ts';
import { openOutbox } from '#shared/platform/events/outbox.ts';
import { NonceStore } from '#shared/platform/hmac/nonce-store.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { HttpServer } from '#shared/platform/http/http-server.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import type { ModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import { createGroup } from '#shared/tenant/group/create-group.ts';
import { insertUser } from '#shared/tenant/user/user-store.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { internalApi } from '../../im-core/internal-api/internal-api.ts';
import { seedFirstAdministrator } from '../domain/administrator/administrator.ts';
import { administratorModel } from '../domain/administrator/administrator-model.ts';
import { commandModel } from '../domain/command/command-model.ts';
import { adminApi } from './admin-api.ts';
import type { AdminApiDeps } from './deps.ts';
import { ImCoreClient } from './im-core-client.ts';

const PASSWORD = 'first password';
const secret = Buffer.from('a secret of hotgo');

interface Reply {
  readonly status: number;
  readonly code: number;
  readonly data: Record<string, unknown>;
}

describe('administrators HTTP API', () => {
  let hotgo: FreshDatabase;
  let tenant: FreshDatabase;
  let redis: FreshRedis;
  let db: ModelDatabase;
  let deps: AdminApiDeps;
  let app: ReturnType<typeof createApp>;
  let imCore: HttpServer;
  let home: string;
  let token: string;
  let topic: string;
  let addresses = 0;

  before(async () => {
    [hotgo, tenant, redis] = await Promise.all([freshDatabase('hotgo'), freshDatabase('tenant'), freshRedis()]);
    home = await mkdtemp('/tmp/adm-');
    db = hotgo.openModels();
    imCore = await startImCore();
    const administrators = administratorModel(db.sequelize);
    deps = {
      db,
      administrators,
      commands: commandModel(db.sequelize),
      outbox: openOutbox('admin_outbox', noWake),
      tokens: new SignedTokens({ key: Buffer.alloc(32, 2), audience: 'admin', ttlMs: 60_000, clock: systemClock }),
      passwords: new Passwords({ logN: 4, parallel: 1 }),
      pause: new LoginPause(redis.redis, `${redis.code}:login:`),
      tenants: ['default'],
      imCore: clientOf(imCore.address),
      log: silentLog,
    };
    app = createApp({ log: silentLog }, adminApi(deps));
    assert.equal(await seedFirstAdministrator(deps, { name: 'admin', password: PASSWORD }), true);
    token = String((await login('admin', PASSWORD)).data['access_token']);
  });
  after(async () => {
    await imCore.stop();
    await Promise.all([hotgo.drop(), tenant.drop(), redis.close(), rm(home, { recursive: true })]);
  });

  const clientOf = (base: string, timeoutMs = 3_000) =>
    new ImCoreClient({ base, serviceName: 'hotgo-admin', secret, timeoutMs }, silentLog);

  async function startImCore(): Promise<HttpServer> {
    const im = tenant.open();
    let lastId = 9_007_199_254_740_992n;
    await insertUser(im, { userId: 101n, name: 'anna', displayName: '', passwordHash: '' });
    const ids = { next: (above = 0n) => (lastId = (lastId > above ? lastId : above) + 1n) };
    topic = `grp${await createGroup({ db: im, tenant: 'default', ids, enqueue: () => Promise.resolve() }, { ownerId: 101n, name: 'Shift A', memberIds: [] })}`;
    const nonces = new NonceStore(redis.redis, `${redis.code}:nonce:`);
    await nonces.open(Date.now() - 60_000);
    const services = [{ name: 'hotgo-admin', allow: ['admin_query' as const], keys: [{ id: 'k1', secret, notAfter: null }] }];
    const verify = { services, nonces, clock: systemClock, windowSeconds: 300 };
    const mounts = internalApi({ enabled: true, verify, databases: new Map([['default', im]]), log: silentLog });
    const server = new HttpServer({ name: 'im-core', listen: `unix:${join(home, 'im.sock')}` }, createApp({ log: silentLog }, mounts));
    await server.start();
    return server;
  }

  async function call(method: 'get' | 'post', path: string, body?: object, as = token): Promise<Reply> {
    const request = supertest(app)[method](`/admin/v1${path}`).set('x-real-ip', '10.0.0.9');
    void request.set('authorization', `Bearer ${as}`);
    const response = body === undefined ? await request : await request.send(body);
    const { code, data } = response.body as { code: number; data: Record<string, unknown> };
    return { status: response.status, code, data };
  }
  async function login(name: string, password: string): Promise<Reply> {
    addresses += 1;
    const response = await supertest(app).post('/admin/v1/login').set('x-real-ip', `10.1.0.${addresses}`).send({ name, password });
    const { code, data } = response.body as { code: number; data: Record<string, unknown> };
    return { status: response.status, code, data };
  }
  const mute = (more: object = {}, payload: object = {}) => ({
    event_type: 'group.member.mute',
    payload: { topic: 'grp42', user_id: 'usr7', reason: 'flooding', expires_at: null, ...payload },
    ...more,
  });
  const order = (body: object, tenantCode = 'default') => call('post', `/tenants/${tenantCode}/commands`, body);
  const count = async (table: string) => Number((await db.select<{ n: string }>(`SELECT COUNT(*) AS n FROM ${table}`))[0]?.n);
  const lastAudit = async () => {
    const [row] = await db.select<{ action: Buffer; outcome: Buffer; admin_name: string; object: Buffer; real_ip: Buffer }>(
      'SELECT * FROM admin_audit_log ORDER BY id DESC LIMIT 1',
    );
    return [row?.action.toString(), row?.outcome.toString(), row?.admin_name, row?.object.toString()];
  };

  it('knows its first administrator from the password file, and keeps a changed password', async () => {
    assert.equal(await seedFirstAdministrator(deps, { name: 'admin', password: 'another' }), false);
    assert.equal((await login('admin', 'another')).code, 40101);
    assert.deepEqual((await call('get', '/me')).data, {
      id: '1',
      name: 'admin',
      role: 'super_admin',
      permissions: ['group.read', 'group.govern', 'command.read'],
    });
  });

  it('pauses a name for a minute after five wrong passwords, and writes each try down', async () => {
    await deps.administrators.create({
      name: 'paused',
      display_name: '',
      role: 'auditor',
      password_hash: await deps.passwords.hash(PASSWORD),
      created_at: new Date(),
      updated_at: new Date(),
    });
    for (let wrong = 0; wrong < 5; wrong += 1) assert.equal((await login('paused', 'wrong')).code, 40101);
    assert.deepEqual(await lastAudit(), ['login', 'UNAUTHORIZED', 'paused', '']);
    const { status, data } = await login('paused', PASSWORD);
    assert.deepEqual([status, data['reason']], [429, 'RATE_LIMITED']);
    assert.ok(Number(data['retry_after_ms']) > 50_000);
    assert.deepEqual(await lastAudit(), ['login', 'RATE_LIMITED', 'paused', '']);
  });

  it('never writes down what was typed as an unknown name', async () => {
    await login('my password by mistake', 'x');
    assert.deepEqual(await lastAudit(), ['login', 'UNAUTHORIZED', '', '']);
  });

  it('refuses a locked administrator and tokens of an older version', async () => {
    const row = {
      display_name: '',
      role: 'auditor',
      password_hash: await deps.passwords.hash(PASSWORD),
      created_at: new Date(),
      updated_at: new Date(),
    };
    await deps.administrators.create({ name: 'gone', ...row });
    const held = String((await login('gone', PASSWORD)).data['access_token']);
    assert.equal((await call('get', '/me', undefined, held)).status, 200);
    await db.change(`UPDATE admin_users SET auth_version = 2 WHERE name = 'gone'`);
    assert.equal((await call('get', '/me', undefined, held)).code, 40101);
    await db.change(`UPDATE admin_users SET state = 2 WHERE name = 'gone'`);
    assert.equal((await login('gone', PASSWORD)).code, 40101);
  });

  it('writes the order, its event and the audit row together, and answers pending (CMD-03, CMD-04, CMD-13)', async () => {
    const { status, data } = await order(mute());
    assert.deepEqual([status, data['status'], data['is_repeat']], [202, 'pending', false]);
    assert.match(String(data['command_id']), /^cmd_/);
    const [row] = await db.select<{ topic: Buffer; order_key: Buffer; envelope: Buffer; event_id: Buffer }>(
      'SELECT * FROM admin_outbox ORDER BY id DESC LIMIT 1',
    );
    const envelope = JSON.parse(row?.envelope.toString() ?? '') as Record<string, unknown>;
    assert.deepEqual([row?.topic.toString(), row?.order_key.toString()], ['im.admin.command', 'default:grp42']);
    assert.equal(envelope['trace_id'], data['trace_id']);
    assert.equal(envelope['idempotency_key'], data['command_id']);
    assert.deepEqual(envelope['actor'], { type: 'admin', id: 'admin_1', display_name: 'admin' });
    assert.deepEqual([envelope['biz_type'], envelope['biz_id'], envelope['tenant_code']], ['group', 'grp42', 'default']);
    assert.deepEqual(envelope['payload'], {
      command_id: data['command_id'],
      actor_user_id: 'usr1',
      topic: 'grp42',
      user_id: 'usr7',
      reason: 'flooding',
      expires_at: null,
    });
    assert.deepEqual(await lastAudit(), ['command.create', '', 'admin', 'grp42']);
    const shown = await call('get', `/tenants/default/commands/${String(data['command_id'])}`);
    assert.deepEqual(
      [shown.data['status'], shown.data['event_type'], shown.data['operator'], shown.data['result']],
      ['pending', 'group.member.mute', 'admin', null],
    );
  });

  it('answers a repeat with the same order and another content with COMMAND_DUPLICATED (CMD-16)', async () => {
    const before = await count('admin_outbox');
    const body = mute({ command_id: 'cmd-client-chosen-1' });
    const first = await order(body);
    const again = await order({ ...body, payload: { expires_at: null, user_id: 'usr7', topic: 'grp42', reason: 'flooding' } });
    assert.deepEqual([again.status, again.data['is_repeat'], again.data['trace_id']], [202, true, first.data['trace_id']]);
    assert.equal((await order(mute({ command_id: 'cmd-client-chosen-1' }, { user_id: 'usr8' }))).data['reason'], 'COMMAND_DUPLICATED');
    assert.equal(
      (await order({ event_type: 'group.member.unmute', command_id: 'cmd-client-chosen-1', payload: { topic: 'grp42', user_id: 'usr7' } }))
        .data['reason'],
      'COMMAND_DUPLICATED',
    );
    assert.equal((await count('admin_outbox')) - before, 1);
    await db.change(`UPDATE admin_command SET status = 'succeeded', result = '{"done":true}' WHERE command_id = 'cmd-client-chosen-1'`);
    const final = await order(body);
    assert.deepEqual([final.status, final.data['status']], [200, 'succeeded']);
  });

  it('makes one order of many equal ones at once', async () => {
    const before = await count('admin_outbox');
    const replies = await Promise.all(Array.from({ length: 8 }, () => order(mute({ command_id: 'cmd-at-once-0001' }))));
    assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
    assert.equal(replies.filter(({ data }) => data['is_repeat'] === false).length, 1);
    assert.equal((await count('admin_outbox')) - before, 1);
  });

  it('keeps orders of one object in the order of their commits', async () => {
    await Promise.all(Array.from({ length: 12 }, (_, index) => order(mute({}, { topic: 'grp77', user_id: `usr${index + 1}` }))));
    const rows = await db.select<{ command_id: Buffer; id: string }>(
      `SELECT c.id, c.command_id FROM admin_command c JOIN admin_outbox o ON o.event_id = c.event_id WHERE c.biz_id = 'grp77' ORDER BY o.id`,
    );
    const ids = rows.map(({ id }) => Number(id));
    assert.equal(ids.length, 12);
    assert.deepEqual(
      ids,
      [...ids].sort((left, right) => left - right),
    );
  });

  const wrong: readonly [string, object][] = [
    ['an unknown event type', mute({ event_type: 'group.destroy' })],
    ['an unknown field', mute({}, { topik: 'grp1' })],
    ['an unknown field beside', mute({ extra: 1 })],
    ['a topic that is no group', mute({}, { topic: 'usr7' })],
    ['a user that is none', mute({}, { user_id: 'usr0' })],
    ['an id over 2^63', mute({}, { user_id: 'usr9223372036854775808' })],
    ['a number for a user', mute({}, { user_id: 7 })],
    ['a time without zone', mute({}, { expires_at: '2026-09-01T10:00:00' })],
    ['a reason that is too long', mute({}, { reason: 'x'.repeat(256) })],
    ['a command_id with spaces', mute({ command_id: 'a b c d e f g' })],
    ['no payload', { event_type: 'group.member.mute' }],
  ];
  for (const [what, body] of wrong) {
    it(`refuses an order with ${what} and writes no order`, async () => {
      const before = await count('admin_command');
      const reply = await order(body);
      assert.equal(reply.code, 40001, JSON.stringify(reply));
      assert.equal(await count('admin_command'), before);
      assert.deepEqual((await lastAudit()).slice(0, 2), ['command.create', 'INVALID_ARGUMENT']);
    });
  }

  it('refuses an unknown tenant, a stranger, and a role without the permission (CMD-02)', async () => {
    assert.equal((await order(mute(), 'nowhere')).code, 40401);
    assert.equal((await call('post', '/tenants/default/commands', mute(), 'a.b.c')).code, 40101);
    await deps.administrators.create({
      name: 'auditor',
      display_name: '',
      role: 'auditor',
      password_hash: await deps.passwords.hash(PASSWORD),
      created_at: new Date(),
      updated_at: new Date(),
    });
    const auditor = String((await login('auditor', PASSWORD)).data['access_token']);
    assert.equal((await call('post', '/tenants/default/commands', mute(), auditor)).code, 40301);
    assert.deepEqual((await lastAudit()).slice(0, 3), ['command.create', 'FORBIDDEN', 'auditor']);
    assert.equal((await call('get', '/commands', undefined, auditor)).status, 200);
  });

  it('lists orders newest first, filtered and in pages', async () => {
    const page = await call('get', '/commands?biz_id=grp77&limit=5');
    const commands = page.data['commands'] as { biz_id: string; command_id: string }[];
    assert.deepEqual([commands.length, new Set(commands.map((command) => command.biz_id))], [5, new Set(['grp77'])]);
    const next = await call('get', `/commands?biz_id=grp77&limit=50&before=${String(page.data['next_before'])}`);
    assert.equal((next.data['commands'] as unknown[]).length, 7);
    assert.equal(next.data['next_before'], null);
    assert.equal(((await call('get', '/commands?status=succeeded')).data['commands'] as unknown[]).length, 1);
    assert.equal((await call('get', '/commands?status=done')).code, 40001);
    assert.equal((await call('get', '/commands?colour=red')).code, 40001);
    assert.equal((await call('get', '/tenants/default/commands/cmd_none')).code, 40401);
  });

  it("shows a group through im-core, in the administrator's name (QRY-03, QRY-17)", async () => {
    const { status, data } = await call('get', `/tenants/default/groups/${topic}?reason=ticket%2042`);
    assert.deepEqual([status, data['topic'], data['owner_id']], [200, topic, 'usr101']);
    const [row] = await tenant
      .open(1)
      .select<{ admin_user_id: Buffer; reason: string }>(
        'SELECT admin_user_id, reason FROM im_internal_query_audit ORDER BY id DESC LIMIT 1',
      );
    assert.deepEqual([row?.admin_user_id.toString(), row?.reason], ['1', 'ticket 42']);
    assert.deepEqual(await lastAudit(), ['group.read', '', 'admin', topic]);
    const members = await call('get', `/tenants/default/groups/${topic}/members?limit=5&role=owner`);
    assert.deepEqual(
      (members.data['members'] as { user_id: string }[]).map((member) => member.user_id),
      ['usr101'],
    );
  });

  it('passes on what im-core says about the question, and no path tricks', async () => {
    assert.equal((await call('get', '/tenants/default/groups/grp5')).code, 40401);
    assert.equal((await call('get', '/tenants/default/groups/usr5')).code, 40001);
    assert.equal((await call('get', `/tenants/default/groups/${encodeURIComponent('../../x')}`)).code, 40001);
    assert.equal((await call('get', `/tenants/default/groups/${topic}?ctx=abc`)).status, 200);
  });

  it('answers BUSY when im-core is away or silent, within its time', async () => {
    const silent: Server = createServer((socket) => socket.resume());
    await new Promise<void>((resolve) => silent.listen(join(home, 'silent.sock'), resolve));
    const operator = { adminUserId: '1', adminRole: 'r', adminPermissions: [], tenantCode: 'default', reason: 'x' };
    for (const base of [`unix:${join(home, 'silent.sock')}`, `unix:${join(home, 'absent.sock')}`, 'http://127.0.0.1:1']) {
      await assert.rejects(clientOf(base, 100).query({ path: '/x', operator, traceId: 'req_1' }), { reason: 'BUSY' });
    }
    await new Promise((resolve) => silent.close(resolve));
  });
});
