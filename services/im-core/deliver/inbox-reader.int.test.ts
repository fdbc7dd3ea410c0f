import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';
import { COMMANDS } from '#shared/contract/commands.ts';
import { pushBody } from '#shared/contract/frame-body.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { closeRedis, connectRedis, openRedis } from '#shared/platform/redis/redis.ts';
import type { Redis, RedisLogin } from '#shared/platform/redis/redis.ts';
import { pushToProcess } from '#shared/tenant/presence/process-inbox.ts';
import { FakeSession } from '#shared/testing/delivery-world.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { eventually } from '#shared/testing/wait.ts';
import { Sessions } from '../gateway/sessions.ts';
import { InboxReader } from './inbox-reader.ts';

/** A road to Redis that breaks when an answer with this word in it comes along, once. */
class BreakingRoad {
  readonly address: string;
  word = '';
  readonly #directory = mkdtempSync('/tmp/ima-');
  readonly #clients = new Set<Socket>();
  readonly #server: Server;

  constructor(path: string) {
    this.address = `unix:${join(this.#directory, 'redis.sock')}`;
    this.#server = createServer((client) => {
      const redis = connect(path);
      this.#clients.add(client);
      client.on('close', () => this.#clients.delete(client));
      client.pipe(redis);
      redis.on('data', (bytes) => {
        if (this.word === '' || !bytes.includes(this.word)) return void client.write(bytes);
        this.word = '';
        client.destroy();
        redis.destroy();
      });
      for (const [one, other] of [[client, redis] as const, [redis, client] as const]) {
        one.on('error', () => undefined);
        one.on('close', () => other.destroy());
      }
    });
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.address.slice('unix:'.length), resolve));
  }

  cut(): void {
    for (const client of this.#clients) client.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
    rmSync(this.#directory, { recursive: true });
  }
}

describe('InboxReader', () => {
  let server: FreshRedis;
  let road: BreakingRoad;
  let reader: InboxReader;
  let redis: Redis;
  const sessions = new Sessions();
  const session = new FakeSession(7n, 1n, 'c1');

  before(async () => {
    server = await freshRedis();
    road = new BreakingRoad(server.login.address.slice('unix:'.length));
    await road.open();
    const login: RedisLogin = { ...server.login, address: road.address };
    redis = openRedis(login, { commandTimeoutMs: 70_000 });
    await connectRedis(redis);
    reader = new InboxReader({ sessions, redis, base: `${server.code}:`, processId: 'p', log: silentLog });
    await reader.start();
    sessions.bind(session);
  });
  after(async () => {
    await reader.stop();
    await closeRedis(redis);
    road.close();
    await server.close();
  });

  async function push(...names: readonly string[]): Promise<void> {
    const device = { userId: 7n, deviceId: 1n, processId: 'p', connectionId: 'c1' };
    const items = names.map((event) => ({
      tenant: 'default',
      device,
      command: COMMANDS.EVENT,
      body: pushBody(Buffer.from(JSON.stringify({ event }))).toString(),
    }));
    await pushToProcess(server.redis, `${server.code}:`, 'p', items);
  }
  const arrived = (event: string) => eventually(() => session.events.includes(event), { what: event, deadlineMs: 5_000 });

  it('passes frames on in order, each once', async () => {
    const names = Array.from({ length: 250 }, (_, n) => `event-${String(n)}`);
    await push(...names);
    await arrived('event-249');
    assert.deepEqual(session.events, names);
  });

  it('goes on when its connection was cut while it waited', async () => {
    road.cut();
    await push('after-the-cut');
    await arrived('after-the-cut');
  });

  it('loses nothing that was on its way when the connection broke', async () => {
    road.word = 'on-its-way';
    await push('on-its-way');
    await arrived('on-its-way');
  });
});
