import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../log/log.ts';
import { HttpServer } from './http-server.ts';
import { parseListenAddress } from './listen-address.ts';
import { OpsServer } from './ops-server.ts';
import type { Dependency } from './ops-server.ts';

interface Reply {
  readonly status: number;
  readonly body: string;
}

async function get(socketPath: string, path: string, method = 'GET'): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, method }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    call.on('error', reject).end();
  });
}

describe('ops server', () => {
  let folder: string;
  let server: OpsServer;
  const states = { mysql: true, kafka: true };
  const dependency = (name: keyof typeof states, required: boolean): Dependency => ({
    name,
    required,
    check: () => (states[name] ? Promise.resolve() : Promise.reject(new Error(`${name} is away`))),
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ops-'));
    Object.assign(states, { mysql: true, kafka: true });
    server = new OpsServer(
      { listen: `unix:${folder}/ops.sock`, service: 'im-core', version: '0.1.0', configHash: 'abc', checkTimeoutMs: 50 },
      {
        dependencies: [dependency('mysql', true), dependency('kafka', false)],
        metrics: { text: () => Promise.resolve('up 1\n') },
        log: silentLog,
      },
    );
    await server.start();
  });
  afterEach(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const readyz = () => get(`${folder}/ops.sock`, '/readyz');

  it('says 503 starting until everything is up, then 200, then 503 stopping', async () => {
    assert.equal((await readyz()).status, 503);
    server.running();
    const ready = await readyz();
    assert.equal(ready.status, 200);
    const body = JSON.parse(ready.body) as Record<string, unknown>;
    assert.equal(body['config_hash'], 'abc');
    assert.equal(body['status'], 'ready');
    server.stopping();
    assert.match((await readyz()).body, /"status":"stopping"/);
  });

  it('stays ready and says degraded when only Kafka is away', async () => {
    server.running();
    states.kafka = false;
    const { status, body } = await readyz();
    assert.equal(status, 200);
    assert.deepEqual((JSON.parse(body) as { degraded: unknown }).degraded, ['kafka']);
  });

  it('is not ready without MySQL, and alive all the same', async () => {
    server.running();
    states.mysql = false;
    const { status, body } = await readyz();
    assert.equal(status, 503);
    assert.match(body, /mysql is away/);
    assert.equal((await get(`${folder}/ops.sock`, '/healthz')).status, 200);
  });

  it('does not wait for a dependency that hangs', async () => {
    await server.stop();
    server = new OpsServer(
      { listen: `unix:${folder}/ops.sock`, service: 's', version: '1', configHash: 'h', checkTimeoutMs: 20 },
      {
        dependencies: [{ name: 'mysql', required: true, check: () => new Promise(() => undefined) }],
        metrics: { text: () => Promise.resolve('') },
        log: silentLog,
      },
    );
    await server.start();
    server.running();
    assert.match((await readyz()).body, /no answer within 20 ms/);
  });

  it('shows metrics, and nothing to other methods and paths', async () => {
    assert.equal((await get(`${folder}/ops.sock`, '/metrics')).body, 'up 1\n');
    assert.equal((await get(`${folder}/ops.sock`, '/readyz', 'POST')).status, 405);
    assert.equal((await get(`${folder}/ops.sock`, '/')).status, 404);
  });
});

describe('http server', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'http-'));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });
  const serverOn = (path: string, socketMode?: number) =>
    new HttpServer(
      { name: 'test', listen: `unix:${path}`, drainMs: 500, ...(socketMode === undefined ? {} : { socketMode }) },
      (_, response) => response.end('ok'),
    );

  it('gives its socket mode 0660, or the one asked for', async () => {
    const first = serverOn(`${folder}/a.sock`);
    const second = serverOn(`${folder}/b.sock`, 0o600);
    await first.start();
    await second.start();
    assert.equal((await stat(`${folder}/a.sock`)).mode & 0o777, 0o660);
    assert.equal((await stat(`${folder}/b.sock`)).mode & 0o777, 0o600);
    await first.stop();
    await second.stop();
  });

  it('takes over the socket file of a process that was killed', async () => {
    const path = `${folder}/a.sock`;
    const child = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`]);
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await stat(path);
    const server = serverOn(path);
    await server.start();
    assert.equal((await get(path, '/')).body, 'ok');
    await server.stop();
  });

  it('reports an address that is in use, and leaves it to its owner', async () => {
    const path = `${folder}/a.sock`;
    const owner = createServer();
    await new Promise<void>((resolve) => owner.listen(path, resolve));
    await assert.rejects(serverOn(path).start(), /EADDRINUSE/);
    await stat(path);
    await new Promise((resolve) => owner.close(resolve));
    await writeFile(path, 'not a socket');
    await assert.rejects(serverOn(path).start(), /EADDRINUSE/);
  });

  it('lets a running request finish while it stops, and closes kept-alive sockets', async () => {
    const path = `${folder}/a.sock`;
    const release = Promise.withResolvers<undefined>();
    const arrived = Promise.withResolvers<undefined>();
    const server = new HttpServer({ name: 'test', listen: `unix:${path}`, drainMs: 5_000 }, (_, response) => {
      arrived.resolve(undefined);
      void release.promise.then(() => response.end('done'));
    });
    await server.start();
    const reply = get(path, '/');
    await arrived.promise;
    const stopped = server.stop();
    release.resolve(undefined);
    assert.equal((await reply).body, 'done');
    await stopped;
  });

  it('reads addresses in the two forms we write', () => {
    assert.deepEqual(parseListenAddress('unix:/run/a.sock'), { path: '/run/a.sock' });
    assert.deepEqual(parseListenAddress('127.0.0.1:80'), { host: '127.0.0.1', port: 80 });
    assert.deepEqual(parseListenAddress('[::1]:80'), { host: '::1', port: 80 });
    for (const text of ['', 'unix:relative', 'host', 'host:', 'host:70000', ':80', 'a b:1'])
      assert.throws(() => parseListenAddress(text), /unix/);
  });
});
