import assert from 'node:assert/strict';
import { GATEWAY_SETTINGS } from '#shared/testing/gateway-settings.ts';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { openAnswer, RefusedError } from '#client/answer.ts';
import { ImConnection } from '#client/im-connection.ts';
import { COMMANDS } from '#shared/contract/commands.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { HandClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { Log, LogFields } from '#shared/platform/log/log.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import { testCertificate } from '#shared/testing/certificate.ts';
import type { TestCertificate } from '#shared/testing/certificate.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { Gateway } from '../gateway/gateway.ts';
import { Sessions } from '../gateway/sessions.ts';
import type { Identity, Session } from '../gateway/sessions.ts';
import { TimerWheel } from '../gateway/timer-wheel.ts';
import { Auth } from './auth.ts';
import type { AuthDeps } from './auth.ts';
import type { CommandHandler } from './command.ts';
import { RateLimits } from './rate-limits.ts';
import { Router } from './router.ts';
import { TaskPool } from './task-pool.ts';

const NAME = 'im.test';
const MAX_BODY = 131_072;

describe('commands', () => {
  let certificate: TestCertificate;
  const cleanups: (() => Promise<unknown>)[] = [];

  before(async () => {
    certificate = await testCertificate(NAME);
  });

  afterEach(async () => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) await cleanup();
  });

  describe('AUTH', () => {
    it('binds session and presence, then answers (SES-11, SES-12)', async () => {
      const house = await open();
      const client = await connectTo(house);
      const { data, traceId } = await client.request(COMMANDS.AUTH, { token: 'u1', device_id: '7', platform: 'cli' });
      assert.deepEqual(data, {
        user_id: '1',
        device_id: '7',
        tenant_code: 'default',
        server_time: '2026-01-01T00:00:00.000Z',
        heartbeat_ms: 30_000,
        sync_epoch: 'e1',
      });
      assert.match(traceId, /^req_[0-9A-Z]{26}$/);
      assert.deepEqual(house.steps, ['verify', 'bound here', 'presence', 'recheck']);
      assert.equal(house.sessions.get('default', 1n, 7n)?.realIp, '203.0.113.9');
    });

    it('refuses a wrong token, another device and a second AUTH, with a reason', async () => {
      const house = await open();
      for (const [body, reason] of [
        [{ token: 'wrong', device_id: '7' }, 'UNAUTHORIZED'],
        [{ token: 'u1', device_id: '8' }, 'UNAUTHORIZED'],
        [{ token: 'u1', device_id: 7.5 }, 'INVALID_ARGUMENT'],
        [{ device_id: '7' }, 'INVALID_ARGUMENT'],
      ] as const) {
        const client = await connectTo(house);
        await assert.rejects(client.request(COMMANDS.AUTH, body), isRefused(reason));
        await within(client.closed, { what: 'the end' });
      }
      const client = await connectTo(house);
      await logIn(client);
      await assert.rejects(logIn(client), isRefused('INVALID_ARGUMENT'));
      assert.equal((await client.request(COMMANDS.SYNC_INBOX, {})).data['user'], '1');
    });

    it('takes everything back when the second look refuses', async () => {
      const house = await open({ recheck: () => Promise.reject(new Refusal('ACCOUNT_SUSPENDED')) });
      const client = await connectTo(house);
      await assert.rejects(logIn(client), isRefused('ACCOUNT_SUSPENDED'));
      await within(client.closed, { what: 'the end' });
      assert.deepEqual(house.steps.slice(-2), ['presence', 'presence gone']);
      assert.equal([...house.sessions.all()].length, 0);
    });

    it('leaves the place to a newer connection that presence knows', async () => {
      const house = await open({ bindDevice: () => Promise.resolve(false) });
      const client = await connectTo(house);
      await assert.rejects(logIn(client), isRefused('UNAUTHORIZED'));
      assert.equal([...house.sessions.all()].length, 0);
    });

    it('settles two logins of one device by age, also when the older one is slow (SES-03)', async () => {
      const slow = Promise.withResolvers<undefined>();
      const house = await open({
        verifyAccessToken: async (token) => {
          if (token === 'slow') await slow.promise;
          return { tenant: 'default', userId: 1n, deviceId: 7n };
        },
      });
      const older = await connectTo(house);
      const late = older.request(COMMANDS.AUTH, { token: 'slow', device_id: '7' });
      await older.request(COMMANDS.HEARTBEAT, {}); // its AUTH is under way
      const newer = await connectTo(house);
      await logIn(newer);
      slow.resolve(undefined);
      await assert.rejects(late, isRefused('UNAUTHORIZED'));
      assert.equal((await newer.request(COMMANDS.SYNC_INBOX, {})).data['user'], '1');
      assert.equal(house.sessions.of('default', 1n).length, 1);
    });

    it('does not leave presence behind when the client is gone before the answer', async () => {
      const presence = Promise.withResolvers<boolean>();
      const house = await open({ bindDevice: () => presence.promise });
      const client = await connectTo(house);
      const asked = logIn(client).catch(() => undefined);
      await eventually(() => [...house.sessions.all()].length === 1, { what: 'the session' });
      client.cut();
      await asked;
      await eventually(() => house.steps.includes('presence gone'), { what: 'the first taking back' });
      house.steps.length = 0;
      presence.resolve(true);
      await eventually(() => house.steps.includes('presence gone'), { what: 'the second taking back' });
      assert.equal([...house.sessions.all()].length, 0);
    });

    it('is refused on a connection without a client address', async () => {
      const house = await open();
      const client = await connectTo(house, Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex'));
      await client.request(COMMANDS.HEARTBEAT, {});
      await assert.rejects(logIn(client), isRefused('FORBIDDEN'));
    });
  });

  describe('the router', () => {
    it('lets nothing but AUTH and HEARTBEAT in before AUTH', async () => {
      const house = await open();
      const client = await connectTo(house);
      assert.equal((await client.request(COMMANDS.HEARTBEAT, {})).data['server_time'], '2026-01-01T00:00:00.000Z');
      await assert.rejects(client.request(COMMANDS.SYNC_INBOX, {}), isRefused('UNAUTHORIZED'));
      await assert.rejects(client.request(999, {}), isRefused('UNAUTHORIZED'));
    });

    it('answers SEND_MESSAGE with SEND_ACK, and its refusal with SEND_MESSAGE', async () => {
      const house = await open();
      const client = await loggedIn(house);
      const body = { content: { t: 1 } };
      assert.equal((await client.request(COMMANDS.SEND_MESSAGE, body)).command, COMMANDS.SEND_ACK);
      const refused = await client.exchange(COMMANDS.SEND_MESSAGE, Buffer.from('{"refuse":true}'));
      assert.equal(refused.command, COMMANDS.SEND_MESSAGE);
      assert.throws(() => openAnswer(refused.body.toString()), isRefused('MEMBER_MUTED'));
    });

    it('answers an unknown command, and one that only servers send, by 40001 under the same number (FRM-19)', async () => {
      const house = await open();
      const client = await loggedIn(house);
      for (const command of [999, COMMANDS.MESSAGE, COMMANDS.EVENT, COMMANDS.RECALL_MESSAGE]) {
        const frame = await client.exchange(command, Buffer.from('{}'));
        assert.equal(frame.command, command);
        assert.throws(
          () => openAnswer(frame.body.toString()),
          (error) => error instanceof RefusedError && error.code === 40_001,
        );
      }
    });

    it('refuses what is no JSON object, and hands over the bytes of what is', async () => {
      const house = await open();
      const client = await loggedIn(house);
      for (const bytes of [
        Buffer.from('{'),
        Buffer.from('[]'),
        Buffer.from('null'),
        Buffer.from('"x"'),
        Buffer.from('7b2261223a22ff227d', 'hex'),
      ]) {
        const frame = await client.exchange(COMMANDS.SEND_MESSAGE, bytes);
        assert.throws(() => openAnswer(frame.body.toString()), isRefused('INVALID_ARGUMENT'));
      }
      const odd = Buffer.from('{"content": {"n":1.0,"id":9007199254740993} }');
      await client.exchange(COMMANDS.SEND_MESSAGE, odd);
      assert.deepEqual(house.raw.at(-1), odd);
    });

    it('answers INTERNAL for a bug, logs it once with ids and without the body (OBS-01, OBS-14)', async () => {
      const lines: LogFields[] = [];
      const house = await open({}, { ...silentLog, error: (fields) => lines.push(fields) });
      const client = await loggedIn(house);
      await assert.rejects(client.request(COMMANDS.SEND_MESSAGE, { crash: 'secret words' }), isRefused('INTERNAL'));
      assert.equal(lines.length, 1);
      const { trace_id: traceId, user_id: userId, command, real_ip: realIp } = lines[0] ?? {};
      assert.match(traceId ?? '', /^req_/);
      assert.deepEqual({ userId, command, realIp }, { userId: '1', command: 'SEND_MESSAGE', realIp: '203.0.113.9' });
      assert.doesNotMatch(JSON.stringify(lines), /secret/);
    });

    it('answers TOO_LARGE instead of a frame that no client would accept', async () => {
      const house = await open();
      const client = await loggedIn(house);
      await assert.rejects(client.request(COMMANDS.SYNC_INBOX, { long: true }), isRefused('TOO_LARGE'));
    });

    it('answers BUSY when the pool is full, HEARTBEAT all the same (FRM-14, FRM-15)', async () => {
      const house = await open();
      const client = await loggedIn(house);
      const held = [1, 2, 3, 4].map(() => client.request(COMMANDS.SYNC_INBOX, { hold: true }));
      await assert.rejects(client.request(COMMANDS.SYNC_INBOX, {}), isRefused('BUSY'));
      await client.request(COMMANDS.HEARTBEAT, {});
      house.release();
      await Promise.all(held);
    });
  });

  describe('limits', () => {
    it('refuse what a device sends too fast, each command on its own, and say when it may come again (LIM-01, LIM-03)', async () => {
      const house = await open({ limits: new RateLimits({ ...NO_LIMITS, message_per_second: 2, sync_inbox_per_minute: 1 }, () => 0) });
      const client = await loggedIn(house);
      for (let n = 0; n < 2; n += 1) await client.request(COMMANDS.SEND_MESSAGE, {});
      await assert.rejects(
        client.request(COMMANDS.SEND_MESSAGE, {}),
        (error) => error instanceof RefusedError && error.code === 42_901 && error.retryAfterMs === 500,
      );
      await client.request(COMMANDS.SYNC_INBOX, {});
      await assert.rejects(client.request(COMMANDS.SYNC_INBOX, {}), isRefused('RATE_LIMITED'));
      await client.request(COMMANDS.HEARTBEAT, {});
      assert.equal(house.raw.length, 2);
    });

    it('refuse an address that logs in too often, and end its connection before any token is looked at (LIM-02)', async () => {
      const house = await open({ limits: new RateLimits({ ...NO_LIMITS, auth_per_second: 1 }, () => 0) });
      await loggedIn(house);
      const verified = house.steps.length;
      const second = await connectTo(house);
      await assert.rejects(logIn(second), isRefused('RATE_LIMITED'));
      await within(second.closed, { what: 'the end' });
      assert.equal(house.steps.length, verified);
      await logIn(await connectTo(house, Buffer.from('PROXY TCP4 203.0.113.10 10.0.0.2 51000 443\r\n')));
    });

    it('end the connection of an AUTH that finds the server full, because it may ask only once', async () => {
      const full = new TaskPool({ size: 1, queue: 0 }, new Metrics());
      const busy = Promise.withResolvers<undefined>();
      full.submit(() => busy.promise);
      const client = await connectTo(await open({ pool: full }));
      await assert.rejects(logIn(client), isRefused('BUSY'));
      await within(client.closed, { what: 'the end' });
      busy.resolve(undefined);
    });
  });

  describe('HEARTBEAT', () => {
    it('keeps the device online; after a lapse it tells the client to sync, and ends a replaced session', async () => {
      const outcomes: ('OK' | 'LAPSED' | 'REPLACED')[] = ['OK', 'LAPSED', 'REPLACED'];
      const house = await open({ refreshDevice: () => Promise.resolve(outcomes.shift() ?? 'OK') });
      const client = await loggedIn(house);
      await client.request(COMMANDS.HEARTBEAT, {});
      assert.deepEqual(client.pushes.drain(), []);
      await client.request(COMMANDS.HEARTBEAT, {});
      const event = await client.pushes.next('EVENT', ({ command }) => command === COMMANDS.EVENT);
      assert.equal(event.data['event'], 'sync.required');
      await client.request(COMMANDS.HEARTBEAT, {});
      const kick = await client.pushes.next('KICK', ({ command }) => command === COMMANDS.KICK);
      assert.deepEqual(kick.data, { reason: 'REPLACED' });
      await within(client.closed, { what: 'the end' });
    });
  });

  interface House {
    readonly path: string;
    readonly sessions: Sessions;
    readonly steps: string[];
    readonly raw: Buffer[];
    release(): void;
  }

  type Overrides = Partial<
    AuthDeps<Identity> & { refreshDevice: () => Promise<'OK' | 'LAPSED' | 'REPLACED'>; limits: RateLimits; pool: TaskPool }
  >;

  async function open(overrides: Overrides = {}, log: Log = silentLog): Promise<House> {
    const directory = await mkdtemp(join(tmpdir(), 'ima-cmd-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const path = join(directory, 'gw.sock');
    const wheel = new TimerWheel();
    const metrics = new Metrics();
    const clock = new HandClock(Date.UTC(2026, 0, 1));
    const sessions = new Sessions();
    const steps: string[] = [];
    const raw: Buffer[] = [];
    const gate = Promise.withResolvers<undefined>();
    const auth = new Auth<Identity>({
      clock,
      log,
      sessions,
      verifyAccessToken: (token) => {
        steps.push('verify');
        return token === 'u1'
          ? Promise.resolve({ tenant: 'default', userId: 1n, deviceId: 7n })
          : Promise.reject(new Refusal('UNAUTHORIZED'));
      },
      bindDevice: ({ tenant, userId, deviceId }) => {
        if (sessions.get(tenant, userId, deviceId) !== undefined) steps.push('bound here');
        steps.push('presence');
        return Promise.resolve(true);
      },
      recheck: () => {
        steps.push('recheck');
        return Promise.resolve();
      },
      unbindDevice: () => {
        steps.push('presence gone');
        return Promise.resolve();
      },
      syncEpoch: () => Promise.resolve('e1'),
      heartbeatMs: 30_000,
      ...overrides,
    });
    const send: CommandHandler = {
      command: COMMANDS.SEND_MESSAGE,
      replyWith: COMMANDS.SEND_ACK,
      handle: (_context, body, bytes) => {
        raw.push(bytes);
        if ('refuse' in body) return Promise.reject(new Refusal('MEMBER_MUTED'));
        if ('crash' in body) return Promise.reject(new TypeError('a bug'));
        return Promise.resolve({ msg_id: '1' });
      },
    };
    const sync: CommandHandler = {
      command: COMMANDS.SYNC_INBOX,
      handle: async ({ userId }, body) => {
        if ('hold' in body) await gate.promise;
        return 'long' in body ? Buffer.from(JSON.stringify('x'.repeat(MAX_BODY))) : { user: userId.toString() };
      },
    };
    const pool = overrides.pool ?? new TaskPool({ size: 2, queue: 2 }, metrics);
    const limits = overrides.limits ?? new RateLimits(NO_LIMITS);
    const refreshDevice = overrides.refreshDevice ?? ((): Promise<'OK'> => Promise.resolve('OK'));
    const router = new Router({ clock, log, metrics, pool, auth, limits, refreshDevice, handlers: [send, sync], maxBodyBytes: MAX_BODY });
    const gateway = new Gateway({
      settings: { ...SETTINGS, listen: `unix:${path}` },
      certificate,
      clock,
      log,
      metrics,
      timers: wheel,
      onFrame: router.onFrame,
      onClose: ({ session }: { session: Session | undefined }) => {
        if (session !== undefined) void auth.leave(session);
      },
    });
    await gateway.start();
    cleanups.push(() => {
      const stopped = gateway.stop();
      wheel.advance(3000);
      return stopped;
    });
    return { path, sessions, steps, raw, release: () => gate.resolve(undefined) };
  }

  async function connectTo({ path }: House, header = Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2 51000 443\r\n')): Promise<ImConnection> {
    const socket = connect(path);
    cleanups.push(() => Promise.resolve(socket.destroy()));
    socket.write(header);
    const secure = connectTls({ socket, servername: NAME, ca: certificate.cert });
    await once(secure, 'secureConnect');
    return new ImConnection(secure);
  }

  async function loggedIn(house: House): Promise<ImConnection> {
    const client = await connectTo(house);
    await logIn(client);
    return client;
  }
});

const SETTINGS = { ...GATEWAY_SETTINGS, maxBodyBytes: MAX_BODY };

const NO_LIMITS = { message_per_second: 1e5, auth_per_second: 1e5, sync_inbox_per_minute: 1e5, sync_messages_per_minute: 1e5 };

function logIn(client: ImConnection): Promise<unknown> {
  return client.request(COMMANDS.AUTH, { token: 'u1', device_id: '7', platform: 'cli' });
}

function isRefused(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof RefusedError && error.reason === reason;
}
