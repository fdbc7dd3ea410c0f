import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server as HttpServer } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { Server as TcpServer, Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { CACHE } from '#scripts/servers/build-once.ts';
import { makeHome } from '#scripts/servers/home.ts';
import { startNginx } from '#scripts/servers/nginx.ts';
import { freePorts } from '#scripts/servers/ports.ts';
import { serverRoot } from '#scripts/servers/root.ts';
import type { Server } from '#scripts/servers/server.ts';
import { eventually } from '#shared/testing/wait.ts';
import { configureAppliance } from '../configure.ts';

interface Seen {
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Real Nginx with the rendered configuration; what stands behind it are listeners that tell what reached them. */
describe('nginx', function () {
  this.timeout(60_000);
  let home: string;
  let port: number;
  let nginx: Server;
  let ca: string;
  const log: string[] = [];
  const seen: Record<'api' | 'admin', Seen[]> = { api: [], admin: [] };
  const gatewayBytes: Buffer[] = [];
  const upstreams: (HttpServer | TcpServer)[] = [];

  before(async () => {
    home = await mkdtemp('/tmp/ima-');
    await makeHome(home);
    [port = 0] = await freePorts(1);
    const file = join(home, 'appliance.yml');
    await writeFile(
      file,
      `port: ${port}\nserver: {http: {max_body_size: 64KiB}}\nmessage: {max_content_size: 32KiB}\ninternal_api: {allow_cidrs: [127.0.0.9/32]}\n`,
    );
    await configureAppliance({ file, home, runtime: 'process', progress: () => undefined });
    ca = await readFile(join(home, 'state/ca.pem'), 'utf8');
    await listen('im-core-http', echo('api'));
    await listen('hotgo-admin-api-http', echo('admin'));
    await listen('im-core-tls', createTcpServer(gateway));
    const root = await serverRoot({ cache: CACHE, progress: () => undefined });
    nginx = await startNginx(
      { serverRoot: root, onLine: (line) => log.push(line), stopping: new AbortController().signal },
      {
        configFile: join(home, 'rendered/current/nginx/nginx.conf'),
        directories: [join(home, 'run'), join(home, 'state')],
        probe: { host: '127.0.0.1', port },
      },
    );
  });

  after(async () => {
    await nginx.stop();
    for (const upstream of upstreams) upstream.close();
    await rm(home, { recursive: true, force: true });
  });

  async function listen(name: string, server: HttpServer | TcpServer): Promise<void> {
    const path = join(home, 'run', `${name}.sock`);
    server.listen(path);
    await once(server, 'listening');
    await chown(path, 33, 33);
    upstreams.push(server);
  }

  function echo(site: 'api' | 'admin'): HttpServer {
    return createServer((incoming, response) => {
      seen[site].push({ target: incoming.url ?? '', headers: incoming.headers });
      incoming.resume().on('end', () => response.end(`${site} got it`));
    });
  }

  function gateway(socket: Socket): void {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      gatewayBytes.push(bytes);
      socket.end();
    });
  }

  interface Asked {
    readonly from?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly method?: string;
    readonly body?: Buffer;
    readonly host?: string;
  }

  /** One request over TLS to the public port; the path goes out as it is written here. */
  async function ask(site: 'api' | 'admin', path: string, asked: Asked = {}): Promise<Answer> {
    const { from = '127.0.0.1', headers = {}, method = 'GET', body, host = `${site}.localhost` } = asked;
    const socket = connectTls({ socket: connect({ host: '127.0.0.1', port, localAddress: from }), servername: `${site}.localhost`, ca });
    await once(socket, 'secureConnect');
    const outgoing = request({ createConnection: () => socket, method, path, headers: { host, connection: 'close', ...headers } });
    outgoing.end(body);
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() };
  }

  /** Sends bytes and returns what comes back until the end. */
  async function raw(bytes: string): Promise<Buffer> {
    const socket = connect({ host: '127.0.0.1', port });
    const received: Buffer[] = [];
    socket.on('data', (chunk) => received.push(chunk));
    socket.on('error', () => undefined);
    socket.write(bytes);
    await once(socket, 'close');
    return Buffer.concat(received);
  }

  it('T9a: tells the gateway the client of an im. connection and hands its TLS on untouched (NET-04)', async () => {
    const socket = connectTls({ socket: connect({ host: '127.0.0.1', port, localAddress: '127.0.0.7' }), servername: 'im.localhost', ca });
    socket.on('error', () => undefined);
    const bytes = await eventually(() => gatewayBytes.shift(), { what: 'bytes at the gateway' });
    const [line, hello] = [bytes.subarray(0, bytes.indexOf('\r\n')).toString(), bytes[bytes.indexOf('\r\n') + 2]];
    assert.match(line, new RegExp(`^PROXY TCP4 127\\.0\\.0\\.7 127\\.0\\.0\\.1 \\d+ ${port}$`));
    assert.equal(hello, 0x16);
    socket.destroy();
  });

  it('tells an IPv6 address as such', async function () {
    if ((await readFile('/proc/net/if_inet6', 'utf8').catch(() => '')) === '') this.skip();
    const socket = connectTls({ host: '::1', port, servername: 'im.localhost', ca });
    socket.on('error', () => undefined);
    const bytes = await eventually(() => gatewayBytes.shift(), { what: 'bytes at the gateway' });
    assert.match(bytes.toString('latin1'), /^PROXY TCP6 ::1 /);
    socket.destroy();
  });

  it('T9b, F1e: overwrites what a client says about its address (NET-12)', async () => {
    const headers = {
      'x-forwarded-for': '6.6.6.6',
      'x-real-ip': '6.6.6.6',
      forwarded: 'for=6.6.6.6',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'evil',
    };
    for (const site of ['api', 'admin'] as const) {
      assert.deepEqual(await ask(site, '/v1/me', { from: '127.0.0.7', headers }), { status: 200, body: `${site} got it` });
      const got: IncomingHttpHeaders = seen[site].at(-1)?.headers ?? {};
      assert.deepEqual(
        [got['x-real-ip'], got['x-forwarded-for'], got['x-forwarded-proto'], got.host],
        ['127.0.0.7', '127.0.0.7', 'https', `${site}.localhost`],
      );
      assert.deepEqual([got['forwarded'], got['x-forwarded-host']], [undefined, undefined]);
    }
  });

  it('T9c: closes on a client that sends a PROXY line itself, and nobody behind sees it', async () => {
    const before = seen.api.length + gatewayBytes.length;
    assert.equal((await raw('PROXY TCP4 203.0.113.9 10.0.0.2 51000 443\r\n')).length, 0);
    assert.equal(seen.api.length + gatewayBytes.length, before);
  });

  it('T9e: closes on an unknown name, no name and plain HTTP, without a certificate and without an error line (NET-03)', async () => {
    for (const servername of ['evil.example', '']) {
      const socket = connectTls({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
      const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
      assert.match(error.code ?? '', /UNRECOGNIZED_NAME/, servername);
      assert.deepEqual(socket.getPeerCertificate(), {});
    }
    assert.equal((await raw('GET / HTTP/1.1\r\nHost: api.localhost\r\n\r\n')).length, 0);
    assert.equal((await raw('\x00\x01\x02garbage\r\n\r\n')).length, 0);
    assert.deepEqual(
      log.filter((line) => /\[(error|crit|alert|emerg)\]/.test(line)),
      [],
    );
  });

  it('refuses another Host than the name of the connection', async () => {
    const before = seen.api.length;
    assert.equal((await ask('api', '/v1/me', { host: 'admin.localhost' })).status, 421);
    assert.equal(seen.api.length, before);
  });

  const HIDDEN = [
    '/internal/admin-query/groups',
    '/internal/alarms/x',
    '/internal/im-config/x',
    '/internal',
    '/internal/',
    '/internal?x=1',
    '//internal/admin-query/x',
    '///internal//admin-query/x',
    '/%69nternal/admin-query/x',
    '/%49NTERNAL/admin-query/x',
    '/INTERNAL/admin-query/x',
    '/Internal/Admin-Query/x',
    '/x/../internal/admin-query/x',
    '/./internal/admin-query/x',
    '/x/%2e%2e/internal/admin-query/x',
    '/internal%2fadmin-query/x',
    '/internal/./admin-query/x',
  ];

  it('does not know /internal/ in any spelling from outside the allowed networks (SIG-02, SIG-03)', async () => {
    for (const site of ['api', 'admin'] as const) {
      const before = seen[site].length;
      for (const path of HIDDEN) {
        const { status, body } = await ask(site, path, {
          from: '127.0.0.8',
          headers: { 'x-forwarded-for': '127.0.0.9', 'x-real-ip': '127.0.0.9' },
        });
        assert.equal(status, 404, path);
        assert.match(body, /"reason":"RESOURCE_NOT_FOUND"/);
      }
      assert.equal(seen[site].length, before);
    }
  });

  it('opens only the paths of each name to the allowed networks', async () => {
    const open = {
      api: ['/internal/admin-query/x?ctx=1', '/internal/alarms/y', '//internal/admin-query/x'],
      admin: ['/internal/im-config/x'],
    } as const;
    const shut = {
      api: ['/internal/im-config/x', '/internal/admin-queryx', '/internal/', '/internal/metrics'],
      admin: ['/internal/admin-query/x', '/internal/alarms/y', '/internal/'],
    } as const;
    for (const site of ['api', 'admin'] as const) {
      for (const path of open[site]) {
        assert.equal((await ask(site, path, { from: '127.0.0.9' })).status, 200, path);
        assert.equal(seen[site].at(-1)?.target, path);
      }
      for (const path of shut[site]) assert.equal((await ask(site, path, { from: '127.0.0.9' })).status, 404, path);
    }
  });

  it('hands the request target on byte for byte, because signatures cover it (SIG-10)', async () => {
    for (const target of ['/v1/a%2Fb//c?x=%20&y=1&y=2', '/v1/%7euser?q=a+b', '/v1/x/../y']) {
      await ask('api', target);
      assert.equal(seen.api.at(-1)?.target, target);
    }
  });

  it('refuses a body over the limit in our own form, and answers BUSY when nobody is behind', async () => {
    const large = await ask('api', '/v1/x', { method: 'POST', body: Buffer.alloc(70_000) });
    assert.equal(large.status, 413);
    assert.match(large.body, /"code":41301.*"limit":65536/);
    upstreams[1]?.close();
    await rm(join(home, 'run/hotgo-admin-api-http.sock'), { force: true });
    const absent = await ask('admin', '/admin/v1/login');
    assert.equal(absent.status, 503);
    assert.match(absent.body, /"code":50301/);
  });

  it('writes who asked for what, and no query string', async () => {
    await ask('api', '/v1/me?token=hunter2', { from: '127.0.0.7' });
    const line = await eventually(() => log.find((text) => text.includes('"path":"/v1/me"') && text.includes('127.0.0.7')), {
      what: 'a log line',
    });
    assert.equal((JSON.parse(line) as { real_ip: string }).real_ip, '127.0.0.7');
    assert.ok(!log.some((text) => text.includes('hunter2')));
  });
});
