import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { COMMANDS } from '#shared/contract/commands.ts';
import { answerBody, pushBody } from '#shared/contract/frame-body.ts';
import { encodeFrame, FrameReader } from '#shared/contract/frame-codec.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import { findStanding, isActive } from '#shared/tenant/user/user-store.ts';
import { testCertificate } from '#shared/testing/certificate.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import { testServers } from '#shared/testing/servers.ts';
import { makeFriends } from './bench-world.ts';
import { cpuSeconds, machineCpuSeconds } from './cpu-times.ts';
import { measurePoint, OWN_CPU } from './load-point.ts';
import { measureRawCeiling } from './raw-ceiling.ts';

describe('the bench', () => {
  it('measures raw group commits and leaves no database behind', async () => {
    const { mysql } = testServers();
    const database = `t_bench_${randomBytes(6).toString('hex')}`;
    const raw = await measureRawCeiling(mysql, database, 0.1);
    assert.ok(raw.rowsPerSecond > 0);
    const connection = await openConnection(mysql);
    assert.deepEqual(await connection.select('SELECT schema_name FROM information_schema.schemata WHERE schema_name = ?', [database]), []);
    await connection.close();
  });

  it('makes pairs of friends who may come in', async () => {
    const database = await freshDatabase('tenant');
    try {
      const db = database.open(2);
      const tokens = new SignedTokens({ key: randomBytes(32), audience: 'im-client', ttlMs: 60_000, clock: systemClock });
      const [one, other] = await makeFriends(db, tokens, 'default', 1);
      assert.equal(one?.conversationId, other?.conversationId);
      const claims = await tokens.read(one?.token ?? '', ['dev', 'av', 'dv']);
      const standing = await findStanding(db, BigInt(claims.get('sub') ?? 0), BigInt(claims.get('dev') ?? 0));
      assert.equal(isActive(standing ?? { state: 0 }), true);
      assert.deepEqual([claims.get('av'), claims.get('dv')], [standing?.authVersion.toString(), standing?.deviceVersion.toString()]);
    } finally {
      await database.drop();
    }
  });

  it('reads the CPU time of a process group, which is part of that of the machine', async () => {
    const stat = await readFile('/proc/self/stat', 'utf8');
    const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
    const { user, system } = process.cpuUsage();
    const { own = 0 } = await cpuSeconds(new Map([['own', group]]));
    assert.ok(own >= (user + system) / 1_000_000 - 0.1);
    assert.ok((await machineCpuSeconds()) > own);
  });

  it('counts what a gateway answers and delivers, and what it refuses', async () => {
    const gateway = await echoGateway();
    try {
      const seat = { userId: 1n, deviceId: 1n, token: 'token', conversationId: 7n };
      const point = await measurePoint(
        { target: gateway.target, cpu: () => Promise.resolve({ server: performance.now() / 1_000, [OWN_CPU]: 1 }) },
        { senders: [seat], listeners: [], inFlight: 2 },
        { warmUp: 0.02, atLeast: 0.05, samples: 1, atMost: 1, drain: 1 },
      );
      assert.ok(point.acked > 0 && point.delivered > 0 && point.acksPerCpuSecond > 0);
      assert.equal(point.undelivered, 0);
      assert.ok((point.ackMs.p50 ?? -1) >= 0 && (point.deliveryMs.p50 ?? -1) >= 0 && (point.deliveryMs.p99 ?? 1e9) < 60_000);
      assert.ok((point.refused['50301'] ?? 0) > 0);
    } finally {
      gateway.close();
    }
  });
});

interface EchoGateway {
  readonly target: { readonly connect: string; readonly servername: string; readonly ca: string };
  close(): void;
}

/** Says yes to everything, delivers each message to its sender, and refuses every fifth. */
async function echoGateway(): Promise<EchoGateway> {
  const { cert, key } = await testCertificate('im.localhost');
  const sockets = new Set<TLSSocket>();
  const server: Server = createServer({ cert, key }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    const reader = new FrameReader({ maxBodyBytes: 4_096 });
    socket.on('data', (chunk: Buffer) => {
      for (const frame of reader.read(chunk)) for (const answer of answersTo(frame)) socket.write(encodeFrame(answer, 4_096));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    target: { connect: `127.0.0.1:${port}`, servername: 'im.localhost', ca: cert },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function answersTo(frame: Frame): readonly Frame[] {
  if (frame.command === COMMANDS.AUTH) return [{ ...frame, body: answerBody('', {}) }];
  if (frame.command !== COMMANDS.SEND_MESSAGE) return [];
  if (frame.sequenceId % 5 === 0) return [{ ...frame, body: Buffer.from('{"code":50301,"msg":"","request_id":"","data":{}}') }];
  const push = { command: COMMANDS.MESSAGE, requestId: 0n, sequenceId: frame.sequenceId, body: pushBody(frame.body) };
  return [{ ...frame, command: COMMANDS.SEND_ACK, body: answerBody('', {}) }, push];
}
