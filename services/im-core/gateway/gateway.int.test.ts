import assert from 'node:assert/strict';
import { GATEWAY_SETTINGS } from '#shared/testing/gateway-settings.ts';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { ImConnection } from '#client/im-connection.ts';
import { COMMANDS } from '#shared/contract/commands.ts';
import { pushBody } from '#shared/contract/frame-body.ts';
import { encodeFrame } from '#shared/contract/frame-codec.ts';
import { MAX_REQUEST_ID } from '#shared/contract/frame.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import { testCertificate } from '#shared/testing/certificate.ts';
import type { TestCertificate } from '#shared/testing/certificate.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import type { Connection } from './connection.ts';
import { Gateway } from './gateway.ts';
import { Sessions } from './sessions.ts';
import type { GatewaySettings } from './settings.ts';
import { TimerWheel } from './timer-wheel.ts';

const NAME = 'im.test';
const PROXY_V1 = Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2 51000 443\r\n');
const V2_SIGNATURE = '0d0a0d0a000d0a515549540a';
const PROXY_V2_TLV = Buffer.from(`${V2_SIGNATURE}21110014cb0071090a000002c73801bb0400050102030405`, 'hex');
const PROXY_V2_LOCAL = Buffer.from(`${V2_SIGNATURE}20000000`, 'hex');
const SETTINGS = GATEWAY_SETTINGS;

describe('gateway', () => {
  let certificate: TestCertificate;
  let directory: string;
  const cleanups: (() => Promise<unknown>)[] = [];

  before(async () => {
    certificate = await testCertificate(NAME);
  });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ima-gw-'));
    cleanups.push(() => rm(directory, { recursive: true }));
  });

  afterEach(async () => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) await cleanup();
  });

  describe('before TLS', () => {
    it('tells the real IP for version 1, one byte at a time, and version 2 with TLVs (F1, NET-09, NET-11)', async () => {
      const house = await open();
      for (const header of [PROXY_V1, PROXY_V2_TLV]) {
        const socket = await tcp(house);
        for (const byte of header) {
          socket.write(Buffer.of(byte));
          await nextTurn();
        }
        const client = await shakeHands(socket);
        await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
        assert.equal(house.last().realIp, '203.0.113.9');
      }
      assert.equal(await house.figure('realip_missing_total'), 0);
    });

    it('lets a LOCAL header shake hands, without a client address', async () => {
      const house = await open();
      const client = await clientOf(house, PROXY_V2_LOCAL);
      await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
      assert.equal(house.last().realIp, '');
    });

    it('takes header and ClientHello in one packet', async () => {
      const house = await open();
      const socket = await tcp(house);
      const uncork = holdWrites(socket);
      socket.write(PROXY_V1);
      const opening = shakeHands(socket);
      await nextTurn();
      uncork();
      const client = await opening;
      await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
      assert.equal(house.last().realIp, '203.0.113.9');
    });

    it('closes what sends no header, a long one, or nothing for 2 s, counts it, and spends no TLS (F1, T9, OBS-10)', async () => {
      const house = await open();
      const withoutHeader = await tcp(house);
      const tooLong = await tcp(house);
      const silent = await tcp(house);
      withoutHeader.write(Buffer.from('160301020001', 'hex'));
      tooLong.write(`PROXY TCP4 ${'9'.repeat(200)}\r\n`);
      await Promise.all([gone(withoutHeader), gone(tooLong)]);
      assert.equal(silent.destroyed, false);
      house.wheel.advance(2000);
      await gone(silent);
      assert.equal(await house.figure('realip_missing_total{reason="not_a_header"}'), 1);
      assert.equal(await house.figure('realip_missing_total{reason="too_long"}'), 1);
      assert.equal(await house.figure('realip_missing_total{reason="timeout"}'), 1);
      assert.equal(await house.figure('tcp_handshake_seconds_count'), 0);
      assert.equal(withoutHeader.bytesRead + tooLong.bytesRead + silent.bytesRead, 0);
    });

    it('never believes a second header that a client sends behind the proxy (T9 c)', async () => {
      const house = await open();
      const socket = await tcp(house);
      socket.write(PROXY_V1);
      socket.write('PROXY TCP4 6.6.6.6 10.0.0.2 51000 443\r\n');
      await gone(socket);
      assert.deepEqual(house.opened, []);
    });

    it('refuses over TCP whoever is not the proxy, also with a right header (F1 c)', async () => {
      const house = await open({ listen: '127.0.0.1:0', proxyFrom: ['10.9.9.9'] });
      const socket = await tcp(house);
      socket.on('error', () => undefined);
      socket.write(PROXY_V1);
      await gone(socket);
      assert.equal(await house.figure('realip_missing_total{reason="untrusted_peer"}'), 1);
      const trusting = await open({ listen: '127.0.0.1:0', proxyFrom: ['127.0.0.1'] });
      await (await clientOf(trusting)).exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
    });

    it('keeps its unix socket to its owner', async () => {
      const house = await open({ socketOwnerUid: process.getuid?.() });
      const { mode, uid } = await stat(house.path);
      assert.equal(mode & 0o777, 0o600);
      assert.equal(uid, process.getuid?.());
    });

    it('closes a TLS handshake that takes over 5 s', async () => {
      const house = await open();
      const socket = await tcp(house);
      socket.write(PROXY_V1);
      await eventually(() => house.wheel.asked.includes(SETTINGS.tlsTimeoutMs), { what: 'the handshake' });
      socket.write(Buffer.from('16030102', 'hex'));
      await nextTurn();
      house.wheel.advance(4900);
      assert.equal(await house.figure('tcp_closed_total'), 0);
      house.wheel.advance(100);
      await gone(socket);
      assert.equal(await house.figure('tcp_closed_total{reason="TLS_TIMEOUT"}'), 1);
    });
  });

  describe('frames', () => {
    it('echoes RequestID and SequenceID bit for bit (F2)', async () => {
      const house = await open();
      const client = await clientOf(house);
      const answer = await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'), { requestId: MAX_REQUEST_ID });
      assert.equal(answer.requestId, MAX_REQUEST_ID);
    });

    it('answers a compressed body, and compresses a long answer (FRM-05)', async () => {
      const house = await open();
      const client = await clientOf(house);
      const body = Buffer.from(JSON.stringify({ text: 'long '.repeat(2000) }));
      const answer = await client.exchange(COMMANDS.HEARTBEAT, body);
      assert.deepEqual(answer.body, body);
      assert.ok((await house.figure('tcp_bytes_out_total')) < 1000);
    });

    it('ends the connection at an oversized or foreign header and leaves others alone (FRM-06)', async () => {
      const house = await open();
      const neighbour = await clientOf(house);
      const oversized = Buffer.from('494d0100040000000000000000000100000001000200010000', 'hex').subarray(0, 23);
      oversized.writeUInt32BE(131_073, 19);
      for (const [bytes, reason] of [
        [oversized, 'FRAME_BODY_TOO_LARGE'],
        [Buffer.from('GET / HTTP/1.1\r\nHost: im.test\r\n\r\n'), 'FRAME_BAD_MAGIC'],
      ] as const) {
        const client = await clientOf(house);
        client.sendBytes(bytes);
        await house.ended(reason);
      }
      await neighbour.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
    });

    it('waits 15 s for the rest of a frame, whatever drips in', async () => {
      const house = await open();
      const client = await clientOf(house);
      const frame = encodeFrame({ command: COMMANDS.HEARTBEAT, requestId: 1n, sequenceId: 900, body: Buffer.from('{}') }, 512);
      house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 1n });
      const before = await house.figure('tcp_bytes_in_total');
      client.sendBytes(frame.subarray(0, 10));
      await house.received(before + 10);
      house.wheel.advance(14_000);
      client.sendBytes(frame.subarray(10, 20));
      await house.received(before + 20);
      assert.equal(house.last().isOpen, true);
      house.wheel.advance(1000);
      await house.ended('HALF_FRAME');
    });

    it('closes after 10 s without AUTH and after 120 s without a frame, not before (NET-16)', async () => {
      const house = await open();
      await clientOf(house);
      house.wheel.advance(10_000);
      await house.ended('AUTH_TIMEOUT');
      const client = await clientOf(house);
      house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 1n });
      house.wheel.advance(100_000);
      await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
      house.wheel.advance(100_000);
      await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
      house.wheel.advance(121_000);
      await house.ended('IDLE');
    });
  });

  describe('a slow client', () => {
    it('loses pushes, which are counted, and hears once that it must sync (SES-08, SES-16)', async () => {
      const house = await open();
      const client = await clientOf(house);
      const session = house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 1n });
      client.pause();
      const frame = { command: COMMANDS.MESSAGE, body: pushBody({ noise: randomText(60_000) }) };
      let taken = 0;
      while (taken < 10_000 && session.push(frame)) {
        taken += 1;
        await nextTurn();
      }
      assert.ok(taken > 0 && taken < 10_000);
      assert.equal(session.push(frame), false);
      assert.equal(await house.figure('outbound_drop_total'), 2);
      client.resume();
      const event = await client.pushes.next('sync.required', ({ command }) => command === COMMANDS.EVENT);
      assert.equal(event.data['event'], 'sync.required');
      assert.equal(client.pushes.drain().length, taken);
      assert.equal(session.push(frame), true);
    });

    it('is closed when it leaves its answers unread', async () => {
      const house = await open({ outboundBytes: 262_144 });
      const client = await clientOf(house);
      client.pause();
      const request = { command: COMMANDS.HEARTBEAT, requestId: 1n, sequenceId: 1, body: Buffer.from(randomText(60_000)) };
      for (let sent = 0; sent < 200 && house.closed.length === 0; sent += 1) {
        client.send(request);
        await nextTurn();
      }
      await eventually(() => house.closed.length > 0, { what: 'the end' });
      assert.equal(house.closed.at(-1), 'SLOW_CONSUMER');
    });
  });

  describe('sessions', () => {
    it('replaces the older connection of a device, tells it by KICK, and keeps other devices (SES-03, SES-04)', async () => {
      const house = await open();
      const sessions = new Sessions();
      const older = await clientOf(house);
      const olderSession = house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 7n });
      sessions.bind(olderSession);
      await clientOf(house);
      sessions.bind(house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 8n }));
      await clientOf(house);
      const newer = house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 7n });
      assert.equal(sessions.bind(newer), olderSession);
      const kick = await older.pushes.next('KICK', ({ command }) => command === COMMANDS.KICK);
      assert.deepEqual(kick.data, { reason: 'REPLACED' });
      await within(older.closed, { what: 'the end' });
      sessions.unbind(olderSession); // the late close of the older one
      assert.equal(sessions.get('default', 1n, 7n), newer);
      assert.equal(sessions.of('default', 1n).length, 2);
      assert.equal([...sessions.all()].length, 2);
      assert.equal(sessions.of('other', 1n).length, 0);
    });

    it('reports a push that nobody acknowledged in 10 s, and leaves the connection open (SES-09, OBS-08)', async () => {
      const house = await open();
      const client = await clientOf(house, PROXY_V1, { acknowledge: false });
      const session = house.last().authenticated({ tenant: 'default', userId: 1n, deviceId: 1n });
      const late: string[] = [];
      const body = pushBody({});
      session.push({ command: COMMANDS.MESSAGE, body }, { onTimeout: () => late.push('first') });
      session.push({ command: COMMANDS.MESSAGE, body }, { onTimeout: () => late.push('second') });
      client.acknowledge(await client.pushes.next('the first', () => true));
      await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
      house.wheel.advance(9000);
      assert.equal(late.length, 0);
      house.wheel.advance(1000);
      assert.equal(late.join(), 'second');
      assert.equal(await house.figure('push_ack_timeout_total'), 1);
      assert.equal(house.last().isOpen, true);
      session.push({ command: COMMANDS.MESSAGE, body }, { onTimeout: () => late.push('third') });
      client.cut();
      await eventually(() => late.length === 2, { what: 'the end of the third' });
    });
  });

  it('uses a replaced certificate for the next handshake', async () => {
    const house = await open();
    await clientOf(house);
    const renewed = await testCertificate(NAME);
    assert.throws(() => house.gateway.replaceCertificate({ cert: renewed.cert, key: certificate.key }));
    house.gateway.replaceCertificate(renewed);
    const secure = connectTls({ socket: await tcp(house, PROXY_V1), servername: NAME, ca: renewed.cert });
    await once(secure, 'secureConnect');
    secure.destroy();
  });

  it('tells its clients before it stops', async () => {
    const house = await open();
    const client = await clientOf(house);
    await house.gateway.stop();
    const kick = await client.pushes.next('KICK', () => true);
    assert.deepEqual(kick.data, { reason: 'SHUTDOWN' });
    await client.closed;
  });

  /** A gateway that echoes every frame, and what it saw. */
  interface House {
    readonly gateway: Gateway;
    readonly wheel: RecordingWheel;
    readonly path: string;
    readonly opened: Connection[];
    readonly closed: string[];
    /** The newest connection; it says HEARTBEAT first, so that the server knows of it. */
    last(): Connection;
    figure(name: string): Promise<number>;
    /** Waits until one connection more has ended, and checks why. */
    ended(reason: string): Promise<void>;
    /** Waits until so many bytes of TLS content have come in all. */
    received(bytes: number): Promise<unknown>;
  }

  async function open(settings: Partial<GatewaySettings> = {}): Promise<House> {
    const path = join(directory, `gw-${cleanups.length}.sock`);
    const wheel = new RecordingWheel();
    const metrics = new Metrics();
    const opened: Connection[] = [];
    const closed: string[] = [];
    const onFrame = (connection: Connection, frame: Frame): void => {
      if (!opened.includes(connection)) opened.push(connection);
      if (frame.command === COMMANDS.PUSH_ACK) connection.acknowledge(frame.sequenceId);
      else connection.reply(frame, frame.command, frame.body);
    };
    const gateway = new Gateway({
      settings: { ...SETTINGS, listen: `unix:${path}`, ...settings },
      certificate,
      clock: systemClock,
      log: silentLog,
      metrics,
      timers: wheel,
      onFrame,
      onClose: (_connection, reason) => closed.push(reason),
    });
    await gateway.start();
    cleanups.push(() => {
      const stopped = gateway.stop();
      wheel.advance(3000);
      return stopped;
    });
    const figure = async (name: string): Promise<number> => sum(await metrics.text(), name);
    return {
      gateway,
      wheel,
      path,
      opened,
      closed,
      figure,
      last: () => opened.at(-1) ?? assert.fail('no connection'),
      ended: async (reason) => {
        await eventually(() => closed.length > 0, { what: reason });
        assert.deepEqual(closed.splice(0), [reason]);
      },
      received: (bytes) => eventually(async () => (await figure('tcp_bytes_in_total')) >= bytes, { what: `${bytes} bytes` }),
    };
  }

  async function tcp({ gateway }: House, first?: Buffer): Promise<Socket> {
    const address = gateway.address();
    const socket = address.startsWith('unix:') ? connect(address.slice(5)) : connect(Number(address.split(':').at(-1)), '127.0.0.1');
    cleanups.push(() => Promise.resolve(socket.destroy()));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    if (first !== undefined) socket.write(first);
    return socket;
  }

  async function shakeHands(socket: Socket, options = {}): Promise<ImConnection> {
    const secure: TLSSocket = connectTls({ socket, servername: NAME, ca: certificate.cert });
    await once(secure, 'secureConnect');
    return new ImConnection(secure, options);
  }

  async function clientOf(house: House, header = PROXY_V1, options = {}): Promise<ImConnection> {
    const client = await shakeHands(await tcp(house, header), options);
    await client.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'));
    return client;
  }
});

/** Tells which waits were begun, so that a test knows which stage a connection is in. */
class RecordingWheel extends TimerWheel {
  readonly asked: number[] = [];

  override after(ms: number, task: () => void): () => void {
    this.asked.push(ms);
    return super.after(ms, task);
  }
}

async function gone(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.destroyed) await within(once(socket, 'close'), { what: 'the end of the connection' });
}

function holdWrites(socket: Socket): () => void {
  socket.cork();
  return () => socket.uncork();
}

/** Sum of a metric's lines; a name with labels is one line. */
function sum(text: string, name: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(name) && /^[{ ]/.test(line.slice(name.length)))
    .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0);
}

function randomText(length: number): string {
  return Array.from({ length }, () => Math.random().toString(36).at(-1) ?? '').join('');
}
