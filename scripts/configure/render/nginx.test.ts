import assert from 'node:assert/strict';
import { isName, nginxFiles } from './nginx.ts';
import type { NginxOptions } from './nginx.ts';

const options = (im: string, resolver?: string): NginxOptions => ({
  generated: 'for a test',
  layout: { streamModule: undefined, workerUser: 'nginx', workerUid: 101, listenPort: 443, isIpv6: false, run: '/run', resolver },
  names: { api: 'api.example.com', im: 'im.example.com', admin: 'admin.example.com' },
  certificates: { api: { certFile: '/a.pem', keyFile: '/a.key' }, admin: { certFile: '/b.pem', keyFile: '/b.key' } },
  addresses: { imTls: im, apiHttp: 'im-core:8080', adminHttp: 'unix:/run/hotgo.sock' },
  maxBodyBytes: 1_048_576,
  internalNetworks: { api: ['10.0.0.0/8'], admin: [] },
});

describe("nginx's files", () => {
  it('have a resolver wherever an upstream is a name (T10)', async () => {
    const files = await nginxFiles(options('im-core:9000', '127.0.0.11'));
    for (const path of ['nginx.conf', 'stream/443.conf'] as const)
      assert.match(files.get(path) ?? '', /^ *resolver 127\.0\.0\.11 valid=5s ipv6=off;$/m, path);
    assert.match(files.get('http/api.conf') ?? '', /set \$service http:\/\/im-core:8080;\s+proxy_pass \$service;/);
    await assert.rejects(nginxFiles(options('im-core:9000')), /needs a resolver/);
  });

  it('have none where all upstreams are addresses', () => {
    assert.deepEqual(['unix:/x', '10.0.0.2:80', '[fd00::1]:80', 'im-core:80', 'localhost:80'].map(isName), [
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  it('leave no word of a template unfilled, and begin with where they come from', async () => {
    for (const text of (await nginxFiles(options('10.0.0.2:9000', '127.0.0.11'))).values()) {
      assert.ok(!text.includes('{{'));
      assert.ok(text.startsWith('# for a test\n'));
    }
  });

  it('never put a URI into proxy_pass, which would make Nginx rewrite the path', async () => {
    for (const text of (await nginxFiles(options('10.0.0.2:9000', '127.0.0.11'))).values()) {
      for (const [, target = ''] of text.matchAll(/proxy_pass ([^;]+);/g))
        assert.match(target, /^(\$\w+|http:\/\/[^/]+|http:\/\/unix:\/[^:]+)$/);
    }
  });
});
