import assert from 'node:assert/strict';
import supertest from 'supertest';
import { Refusal } from '#shared/contract/reasons.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { createApp } from '#shared/platform/http/app.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { LoginPause } from '#shared/platform/login/login-pause.ts';
import { Passwords } from '#shared/platform/login/password.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import type { PublicApiDeps } from './deps.ts';
import { publicApi } from './public-api.ts';
import { HttpLimits } from './rate-limits.ts';

interface Reply {
  readonly status: number;
  readonly code: number;
  readonly data: Record<string, unknown>;
  readonly text: string;
}

describe('client HTTP API', () => {
  let fresh: FreshDatabase;
  let redis: FreshRedis;
  let app: ReturnType<typeof createApp>;
  let deps: PublicApiDeps;
  let lastId = 9_007_199_254_740_992n; // Above what a JSON number can hold.
  let queueIsAway = false;
  let isClosed = false;
  const jobs: DeliverJob[] = [];

  before(async () => {
    [fresh, redis] = await Promise.all([freshDatabase('tenant'), freshRedis()]);
    const databases = new Map([['default', fresh.open()]]);
    const assertTenant = (): void => {
      if (isClosed) throw new Refusal('TENANT_DISABLED');
    };
    const login = {
      databases,
      assertTenant,
      clock: systemClock,
      refreshTtlMs: 60_000,
      tokens: new SignedTokens({ key: Buffer.alloc(32, 1), audience: 'im', ttlMs: 900_000, clock: systemClock }),
      passwords: new Passwords({ logN: 4, parallel: 1 }),
      pause: new LoginPause(redis.redis, `${redis.code}:login:`),
    };
    deps = {
      login,
      registration: 'open',
      limits: new HttpLimits({ auth_per_second: 10_000, history_per_minute: 10_000 }),
      log: silentLog,
      ids: { next: (above = 0n) => (lastId = (lastId > above ? lastId : above) + 1n) },
      enqueue: (more) => (queueIsAway ? Promise.reject(new Error('redis is away')) : Promise.resolve(void jobs.push(...more))),
      wakeNotices: () => undefined,
    };
    app = createApp({ log: silentLog }, publicApi(deps));
  });
  after(async () => {
    await Promise.all([fresh.drop(), redis.close()]);
  });

  async function call(method: 'get' | 'post', path: string, token?: string, body?: unknown): Promise<Reply> {
    const request = supertest(app)[method](path);
    if (token !== undefined) void request.set('authorization', `Bearer ${token}`);
    const response =
      body === undefined ? await request : await request.send(typeof body === 'string' ? body : JSON.stringify(body)).type('json');
    const { code, data } = response.body as { code: number; data: Record<string, unknown> };
    return { status: response.status, code, data, text: response.text };
  }
  const post = (path: string, body: unknown, token?: string) => call('post', path, token, body);
  const get = (path: string, token?: string) => call('get', path, token);

  interface Person {
    readonly id: string;
    readonly token: string;
    readonly refresh: string;
  }
  async function person(name: string): Promise<Person> {
    assert.equal((await post('/v1/auth/register', { name, password: 'correct horse' })).status, 201);
    const { data } = await post('/v1/auth/login', { name, password: 'correct horse', device_id: '7', platform: 'test' });
    return { id: String(data['user_id']), token: String(data['access_token']), refresh: String(data['refresh_token']) };
  }

  it('goes from register over login and refresh to logout, with ids as texts', async () => {
    const anna = await person('anna');
    assert.match(anna.id, /^[0-9]{16,}$/);
    const me = await get('/v1/me', anna.token);
    assert.deepEqual(me.data, { user_id: anna.id, name: 'anna', display_name: 'anna', device_id: '7', tenant_code: 'default' });
    const renewed = await post('/v1/auth/refresh', { refresh_token: anna.refresh });
    assert.equal(renewed.data['user_id'], anna.id);
    assert.match(String(renewed.data['access_expires_at']), /Z$/);
    assert.equal((await call('post', '/v1/auth/logout', anna.token)).status, 200);
    assert.equal((await get('/v1/me', anna.token)).code, 40101);
    assert.equal((await post('/v1/auth/refresh', { refresh_token: renewed.data['refresh_token'] })).code, 40101);
  });

  it('serves nobody of a closed tenant: no login, no request, no new account', async () => {
    const { token } = await person('closing');
    isClosed = true;
    try {
      const body = { name: 'closing', password: 'correct horse', device_id: '7', platform: 'test' };
      const replies = [
        await get('/v1/me', token),
        await post('/v1/auth/login', body),
        await post('/v1/auth/register', { ...body, name: 'new' }),
      ];
      for (const { status, data } of replies) assert.deepEqual([status, data['reason']], [403, 'TENANT_DISABLED']);
    } finally {
      isClosed = false;
    }
    assert.equal((await get('/v1/me', token)).status, 200);
  });

  it('refuses an address that tries too often at the door, and a device that reads too fast (LIM-02, LIM-05)', async () => {
    const { token } = await person('hasty');
    const p2p = await post('/v1/conversations/p2p', { user_id: (await person('patient')).id }, token);
    const path = `/v1/conversations/${String(p2p.data['conversation_id'])}/messages`;
    const limits = new HttpLimits({ auth_per_second: 2, history_per_minute: 2 }, () => 0);
    const limited = createApp({ log: silentLog }, publicApi({ ...deps, limits }));
    const knock = (realIp: string, at: string) =>
      supertest(limited).post(`/v1/auth/${at}`).set('x-real-ip', realIp).send({ refresh_token: 'none' });
    assert.deepEqual([(await knock('192.0.2.1', 'refresh')).status, (await knock('192.0.2.1', 'login')).status], [401, 400]);
    for (const at of ['refresh', 'login', 'register']) {
      const refused = await knock('192.0.2.1', at);
      assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'], at);
      assert.deepEqual((refused.body as Reply).data, { reason: 'RATE_LIMITED', retriable: true, retry_after_ms: 500 });
    }
    assert.equal((await knock('192.0.2.2', 'refresh')).status, 401);
    const read = async () => (await supertest(limited).get(path).set('authorization', `Bearer ${token}`)).status;
    assert.deepEqual([await read(), await read(), await read()], [200, 200, 429]);
    assert.equal((await get(path, token)).status, 200);
  });

  it('asks for a token everywhere but at the door', async () => {
    const closed: readonly ['get' | 'post', string][] = [
      ['get', '/v1/me'],
      ['get', '/v1/users?name=x'],
      ['get', '/v1/friends'],
      ['post', '/v1/friends/requests'],
      ['post', '/v1/friends/accept'],
      ['post', '/v1/conversations/p2p'],
      ['get', '/v1/conversations/1/messages'],
      ['post', '/v1/groups'],
      ['get', '/v1/groups/1'],
      ['get', '/v1/groups/1/members'],
      ['post', '/v1/auth/logout'],
    ];
    for (const [method, path] of closed) assert.equal((await call(method, path)).code, 40101, path);
    assert.equal((await get('/v1/me', 'a.b.c')).code, 40101);
  });

  it('refuses an id that JavaScript has rounded, and other things that are no ids (F2)', async () => {
    const { token } = await person('ida');
    for (const id of [
      '9007199254740993',
      '7405472097755331634',
      '0',
      '-1',
      '1.5',
      '"1e3"',
      '" 7"',
      '"9223372036854775808"',
      'null',
      '{}',
      'true',
    ]) {
      assert.equal((await post('/v1/friends/requests', `{"user_id": ${id}}`, token)).code, 40001, id);
    }
    assert.equal((await post('/v1/friends/requests', '{}', token)).code, 40001);
    assert.equal((await post('/v1/friends/requests', '{"user_id": "90071992547409939999"}', token)).code, 40001);
    assert.equal((await post('/v1/friends/requests', '{"user_id": 4242}', token)).code, 40401);
    for (const path of [
      '/v1/groups/abc',
      '/v1/groups/0x10',
      '/v1/conversations/1.5/messages',
      '/v1/conversations/1/messages?before=-1',
      '/v1/conversations/1/messages?limit=201',
      '/v1/conversations/1/messages?limit=5&limit=6',
    ]) {
      assert.equal((await get(path, token)).code, 40001, path);
    }
  });

  it('names the field that is wrong and never its value', async () => {
    const reply = await post('/v1/auth/login', { name: 'x', password: { secret: 'hunter2' }, device_id: '1', platform: 'x' });
    assert.equal(reply.code, 40001);
    assert.equal(reply.data['field'], 'password');
    assert.doesNotMatch(reply.text, /hunter2/);
  });

  it('makes friends and finds people by their exact name (FRD-03)', async () => {
    const [bert, carl] = [await person('bert'), await person('carl')];
    const found = await get('/v1/users?name=CARL', bert.token);
    assert.deepEqual(found.data, { users: [{ user_id: carl.id, name: 'carl', display_name: 'carl' }] });
    assert.deepEqual((await get('/v1/users?name=car', bert.token)).data, { users: [] });
    assert.deepEqual((await post('/v1/friends/requests', { user_id: carl.id }, bert.token)).data, { state: 'requested' });
    assert.deepEqual((await post('/v1/friends/accept', { user_id: bert.id }, carl.token)).data, { state: 'friend' });
    const { data } = await get('/v1/friends', bert.token);
    assert.deepEqual(data, {
      friends: [{ user_id: carl.id, name: 'carl', display_name: 'carl', remark: '', state: 'friend' }],
      has_more: false,
    });
  });

  it('gives two people one conversation, and its history byte for byte (MSG-49, F2)', async () => {
    const [dora, emil, stranger] = [await person('dora'), await person('emil'), await person('fritz')];
    const { data } = await post('/v1/conversations/p2p', { user_id: emil.id }, dora.token);
    const again = await post('/v1/conversations/p2p', { user_id: dora.id }, emil.token);
    assert.deepEqual(again.data, data);
    const id = String(data['conversation_id']);
    const content = '{"t":1,  "text":"\u{1F600} \\u00e9", "n": 1.0}';
    for (const msgId of ['9007199254740992', '9007199254740993', '7405472097755331634']) {
      await fresh
        .open(1)
        .change(
          `INSERT INTO t_messages (id, conversation_id, sender_id, client_msg_id, message_type, content, content_hash, created_at) VALUES (?, ?, ?, ?, 1, ?, ?, NOW(3))`,
          [msgId, id, dora.id, Buffer.from(msgId), Buffer.from(content), Buffer.alloc(32)],
        );
    }
    await fresh
      .open(1)
      .change('UPDATE t_conversations SET last_msg_id = 7405472097755331634, last_change_id = 7405472097755331634 WHERE id = ?', [id]);
    const history = await get(`/v1/conversations/${id}/messages?limit=2`, emil.token);
    const ids = (reply: Reply) => (reply.data['messages'] as { msg_id: string }[]).map((message) => message.msg_id);
    assert.deepEqual(ids(history), ['7405472097755331634', '9007199254740993']);
    assert.equal(history.data['has_more'], true);
    assert.ok(history.text.includes(`"content":${content}`), history.text);
    assert.deepEqual(ids(await get(`/v1/conversations/${id}/messages?before=9007199254740993`, emil.token)), ['9007199254740992']);
    assert.equal((await get(`/v1/conversations/${id}/messages`, stranger.token)).code, 40301);
  });

  it('makes a group that only its members see, also while Redis is away (G-16)', async () => {
    const [gerd, hans, stranger] = [await person('gerd'), await person('hans'), await person('iris')];
    jobs.length = 0;
    const made = await post('/v1/groups', { name: 'Shift A', member_ids: [hans.id] }, gerd.token);
    assert.equal(made.status, 201);
    const id = String(made.data['conversation_id']);
    assert.equal(made.data['topic'], `grp${id}`);
    assert.deepEqual(
      jobs.map((job) => job.conversationId.toString()),
      [id],
    );
    const { data } = await get(`/v1/groups/${id}`, hans.token);
    assert.deepEqual([data['name'], data['owner_id'], data['member_count']], ['Shift A', gerd.id, 2]);
    const members = await get(`/v1/groups/${id}/members?limit=1&after=${gerd.id}`, hans.token);
    assert.deepEqual(
      (members.data['members'] as { user_id: string; role: number }[]).map((member) => [member.user_id, member.role]),
      [[hans.id, 3]],
    );
    assert.equal((await get(`/v1/groups/${id}`, stranger.token)).code, 40401);
    assert.equal((await get(`/v1/groups/${id}/members`, stranger.token)).code, 40401);
    queueIsAway = true;
    assert.equal((await post('/v1/groups', { name: 'Shift B', member_ids: [] }, gerd.token)).status, 201);
    queueIsAway = false;
  });
});
