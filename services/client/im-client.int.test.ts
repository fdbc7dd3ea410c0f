import assert from 'node:assert/strict';
import { GATEWAY_SETTINGS } from '#shared/testing/gateway-settings.ts';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMANDS } from '#shared/contract/commands.ts';
import { answerBody, kickFrame, pushBody } from '#shared/contract/frame-body.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { refusalAnswer, Refusal } from '#shared/contract/reasons.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import { testCertificate } from '#shared/testing/certificate.ts';
import type { TestCertificate } from '#shared/testing/certificate.ts';
import { eventually } from '#shared/testing/wait.ts';
import type { Connection } from '../im-core/gateway/connection.ts';
import { Gateway } from '../im-core/gateway/gateway.ts';
import { TimerWheel } from '../im-core/gateway/timer-wheel.ts';
import { RefusedError } from './answer.ts';
import { ImClient } from './im-client.ts';

const NAME = 'im.test';

describe('ImClient', () => {
  let certificate: TestCertificate;
  const cleanups: (() => Promise<unknown>)[] = [];

  before(async () => {
    certificate = await testCertificate(NAME);
  });

  afterEach(async () => {
    for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) await cleanup();
  });

  it('repeats a send whose answer was lost under the same key, over a new connection (S1)', async () => {
    const keys: string[] = [];
    const { client, logins } = await open((connection, frame) => {
      keys.push(keyOf(frame));
      if (keys.length === 1) connection.close('LOST');
      else connection.reply(frame, COMMANDS.SEND_ACK, answerBody('req_1', { msg_id: '77', is_duplicate: true }));
    });
    const ack = await client.send({ conversationId: '1', content: { t: 1 } });
    assert.equal(ack.msgId, '77');
    assert.equal(ack.isDuplicate, true);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
    assert.equal(logins.length, 2);
  });

  it('asks again after BUSY and not after a refusal', async () => {
    let asked = 0;
    const { client } = await open((connection, frame) => {
      asked += 1;
      const reason = asked === 1 ? 'BUSY' : 'MEMBER_MUTED';
      connection.reply(frame, frame.command, Buffer.from(JSON.stringify(refusalAnswer(new Refusal(reason), 'req_2'))));
    });
    await assert.rejects(
      client.send({ conversationId: '1', content: { t: 1 } }),
      (error) => error instanceof RefusedError && error.reason === 'MEMBER_MUTED' && error.traceId === 'req_2',
    );
    assert.equal(asked, 2);
  });

  it('waits as long as the server says after RATE_LIMITED (LIM-01)', async () => {
    const asked: number[] = [];
    const { client } = await open((connection, frame) => {
      asked.push(performance.now());
      const refusal = new Refusal('RATE_LIMITED', 'slower', { retry_after_ms: 400 });
      if (asked.length === 1) connection.reply(frame, frame.command, Buffer.from(JSON.stringify(refusalAnswer(refusal, 'req_3'))));
      else connection.reply(frame, COMMANDS.SEND_ACK, answerBody('req_4', { msg_id: '78' }));
    });
    assert.equal((await client.send({ conversationId: '1', content: { t: 1 } })).msgId, '78');
    const waitedMs = (asked[1] ?? 0) - (asked[0] ?? 0);
    assert.ok(waitedMs >= 395, String(waitedMs));
  });

  it('comes back by itself, and its pushes go on', async () => {
    const { client, logins, connections } = await open(() => undefined);
    client.cut();
    await eventually(() => logins.length === 2, { what: 'the second login' });
    connections.at(-1)?.push({ command: COMMANDS.MESSAGE, body: pushBody({ msg_id: '5' }) });
    const push = await client.pushes.next('MESSAGE', ({ command }) => command === COMMANDS.MESSAGE);
    assert.equal(push.data['msg_id'], '5');
  });

  it('stays away when another connection of its device took over (SES-03)', async () => {
    const { client, logins, connections, ended } = await open(() => undefined);
    connections.at(-1)?.push(kickFrame('REPLACED'));
    await eventually(() => ended.length > 0, { what: 'the end' });
    assert.deepEqual(ended, ['REPLACED']);
    await assert.rejects(client.request(COMMANDS.HEARTBEAT, {}), /REPLACED/);
    assert.equal(logins.length, 1);
  });

  it('comes back no more when it was closed on its way back', async () => {
    const { client, connections } = await open(() => undefined);
    client.cut();
    const request = client.request(COMMANDS.HEARTBEAT, {});
    await client.close();
    await assert.rejects(request, /ended: CLOSED_BY_US/);
    await eventually(() => connections.every((connection) => !connection.isOpen), { what: 'all connections to end', deadlineMs: 3_000 });
  });

  interface Opened {
    readonly client: ImClient;
    readonly logins: string[];
    readonly connections: Connection[];
    readonly ended: string[];
  }

  /** A client and a gateway whose AUTH always succeeds; `onSend` answers SEND_MESSAGE. */
  async function open(onSend: (connection: Connection, frame: Frame) => void): Promise<Opened> {
    const directory = await mkdtemp(join(tmpdir(), 'ima-cli-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const path = join(directory, 'gw.sock');
    const wheel = new TimerWheel();
    const connections: Connection[] = [];
    const gateway = new Gateway({
      settings: { ...SETTINGS, listen: `unix:${path}` },
      certificate,
      clock: systemClock,
      log: silentLog,
      metrics: new Metrics(),
      timers: wheel,
      onFrame: (connection, frame) => {
        if (frame.command === COMMANDS.SEND_MESSAGE) onSend(connection, frame);
        if (frame.command !== COMMANDS.AUTH) return;
        connection.authenticated({ tenant: 'default', userId: 1n, deviceId: 7n });
        connections.push(connection);
        connection.reply(frame, COMMANDS.AUTH, answerBody('req_0', { heartbeat_ms: 30_000 }));
      },
      onClose: () => undefined,
    });
    await gateway.start();
    cleanups.push(() => {
      const stopped = gateway.stop();
      wheel.advance(3000);
      return stopped;
    });
    const logins: string[] = [];
    const ended: string[] = [];
    const client = new ImClient({
      target: { connect: await frontDoor(path), servername: NAME, ca: certificate.cert },
      deviceId: '7',
      platform: 'test',
      token: () => Promise.resolve('u1'),
      onConnected: () => logins.push('in'),
      onEnded: (reason) => ended.push(reason),
    });
    await client.connect();
    cleanups.push(() => client.close());
    return { client, logins, connections, ended };
  }

  /** What nginx does for the gateway: the PROXY header, then bytes both ways. @returns HOST:PORT */
  async function frontDoor(path: string): Promise<string> {
    const server = createServer((socket) => {
      const upstream = connect(path);
      upstream.write('PROXY TCP4 203.0.113.9 10.0.0.2 51000 443\r\n');
      socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
      upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(() => Promise.resolve(server.close()));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
});

const SETTINGS = GATEWAY_SETTINGS;

function keyOf(frame: Frame): string {
  const body = JSON.parse(frame.body.toString()) as { client_msg_id: string };
  return body.client_msg_id;
}
