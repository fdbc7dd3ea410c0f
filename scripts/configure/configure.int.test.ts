import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { loadHotgoAdminApiConfig } from '../../services/hotgo-admin-api/config.ts';
import { loadImCoreConfig } from '../../services/im-core/config.ts';
import { loadOutboxAndCronConfig } from '../../services/outbox-and-cron/config.ts';
import { readMigrateConfig } from '../migrate/config.ts';
import { issue, makeAuthority } from './certificates.ts';
import { configureAppliance, ConfigProblems, PreflightError } from './configure.ts';
import type { Configured } from './configure.ts';
import { READERS } from './readers.ts';
import { readSettings } from './settings.ts';

const DAY_MS = 86_400_000;
const NOW = new Date('2027-01-01T00:00:00Z');
const later = (days: number): Date => new Date(NOW.getTime() + days * DAY_MS);
const PROGRAM = join(import.meta.dirname, 'configure.ts');

const FILE = `
# one
port: 8443
log: {level: warn}
domain:
  api: api.localhost
  admin: admin.localhost
kafka: {topics: [{name: im.audit.event, retention: 3d}]}
internal_api:
  services:
    crm: {allow: [alarm], keys: [{id: k1, secret: crm-secret-crm-secret-crm-secret-1234}]}
    mes: {allow: [alarm, admin_query]}
`;
const SAME_FILE = `internal_api:
  services: {mes: {allow: [alarm, admin_query]}, "crm": {keys: [{secret: 'crm-secret-crm-secret-crm-secret-1234', id: k1}], allow: [alarm]}}
# two
kafka: {topics: [{retention: 72h, name: im.audit.event}]}
domain: {admin: admin.localhost, api: "api.localhost"}
log: {level: warn}
port: 8443
`;

describe('configure', function () {
  this.timeout(60_000);
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp('/tmp/ima-');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const home = (): string => join(folder, 'home');
  async function run(text = FILE, now = NOW): Promise<Configured> {
    const file = join(folder, 'appliance.yml');
    await writeFile(file, text);
    return configureAppliance({ file, home: home(), runtime: 'process', progress: () => undefined, now });
  }

  /** Every file below a directory with its content, mode and time of change. */
  async function snapshot(directory: string): Promise<ReadonlyMap<string, string>> {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const lines = await Promise.all(
      files.map(async (file): Promise<[string, string]> => {
        const { mode, mtimeMs } = await stat(file);
        const sha = createHash('sha256')
          .update(await readFile(file))
          .digest('hex');
        return [relative(directory, file), `${(mode & 0o777).toString(8)} ${mtimeMs} ${sha}`];
      }),
    );
    return new Map(lines.sort(([a], [b]) => a.localeCompare(b)));
  }

  async function program(
    args: readonly string[],
    options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<{ code: number; output: string }> {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      cwd: options.cwd ?? folder,
      env: options.env ?? {},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += String(chunk)));
    child.stderr.on('data', (chunk) => (output += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    return { code, output };
  }

  it('T6: gives the same bytes whatever the locale, zone, folder, order, spelling and comments', async () => {
    const { hash } = await run();
    const before = await snapshot(home());
    const file = join(folder, 'other.yml');
    await writeFile(file, SAME_FILE);
    const args = ['--file', file, '--home', home(), '--runtime', 'process'];
    for (const env of [
      { LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8', TZ: 'Asia/Shanghai' },
      { LANG: 'C', TZ: 'America/St_Johns' },
    ]) {
      const { code, output } = await program(args, { env, cwd: '/' });
      assert.equal(code, 0, output);
      assert.match(output, new RegExp(`configuration ${hash} unchanged`));
    }
    assert.deepEqual(await snapshot(home()), before);
    assert.ok(
      (await readFile(join(home(), 'rendered/current/nginx/nginx.conf'), 'utf8')).startsWith(`# generated from appliance.yml ${hash};`),
    );
  });

  it('T5: takes nothing from the environment, and says what it ignored', async () => {
    await run();
    const before = await snapshot(home());
    await writeFile(join(folder, '.env'), 'MYSQL_HOST=evil\n');
    const env = {
      MYSQL_HOST: 'evil',
      REDIS_PASSWORD: '',
      INTERNAL_API_ENABLED: '0',
      ADMIN_INTERNAL_API_SECRET: 'hunter2',
      PATH: '/usr/bin',
    };
    const { code, output } = await program(['--file', join(folder, 'appliance.yml'), '--home', home(), '--runtime', 'process'], { env });
    assert.equal(code, 0, output);
    for (const name of ['MYSQL_HOST', 'REDIS_PASSWORD', 'INTERNAL_API_ENABLED', 'ADMIN_INTERNAL_API_SECRET'])
      assert.match(output, new RegExp(`environment variable ${name} is ignored`));
    assert.ok(!/evil|hunter2|PATH/.test(output));
    assert.deepEqual(await snapshot(home()), before);
  });

  it('T1: touches nothing when the file is refused, and exits 2 with every problem', async () => {
    await run();
    const before = await snapshot(home());
    const file = join(folder, 'appliance.yml');
    await writeFile(
      file,
      'port: 8443\nlogg: {level: info}\ninternal_api: {enabled: no, services: {crm: {allow: [alarm], secert: "s3cr3t-s3cr3t"}}}\n',
    );
    const { code, output } = await program(['--file', file, '--home', home(), '--runtime', 'process']);
    assert.equal(code, 2);
    assert.deepEqual(
      output
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0]),
      ['appliance.yml:2:1', 'appliance.yml:3:25', 'appliance.yml:3:62'],
    );
    assert.ok(!output.includes('s3cr3t'));
    assert.deepEqual(await snapshot(home()), before);
    await assert.rejects(
      configureAppliance({ file, home: join(folder, 'fresh'), runtime: 'process', progress: () => undefined }),
      ConfigProblems,
    );
    await assert.rejects(stat(join(folder, 'fresh')), { code: 'ENOENT' });
  });

  it('refuses wrong arguments, an absent file and a home whose sockets would not fit', async () => {
    assert.equal((await program([])).code, 2);
    assert.equal((await program(['--flie', 'x'])).code, 2);
    const absent = await program(['--file', '/nowhere/appliance.yml', '--home', home(), '--runtime', 'process']);
    assert.deepEqual([absent.code, absent.output], [2, 'appliance.yml:1:1 cannot be read (ENOENT)\n']);
    await run();
    const long = join(folder, 'x'.repeat(90));
    const { code, output } = await program(['--file', join(folder, 'appliance.yml'), '--home', long, '--runtime', 'process']);
    assert.equal(code, 3);
    assert.match(output, /too long for unix sockets/);
    await assert.rejects(stat(long), { code: 'ENOENT' });
    const odd = join(folder, 'my appliance');
    const answer = await program(['--file', join(folder, 'appliance.yml'), '--home', odd, '--runtime', 'process']);
    assert.equal(answer.code, 3);
    assert.match(answer.output, /path of the appliance's home may have letters, digits/);
    await assert.rejects(stat(odd), { code: 'ENOENT' });
  });

  describe('for containers', () => {
    const [certFile, keyFile] = ['own.pem', 'own.key'];
    const compose = (publishedPort = 8443): Promise<Configured> =>
      configureAppliance({
        file: join(folder, 'appliance.yml'),
        home: home(),
        runtime: 'compose',
        publishedPort,
        proxyAddress: '10.9.8.2',
        progress: () => undefined,
        now: NOW,
      });
    const shared = (reader: string): string => join(home(), 'state/for', reader);
    const write = (text = FILE): Promise<void> => writeFile(join(folder, 'appliance.yml'), text);

    it('gives each container what its own files name, to its user alone, and nothing else', async () => {
      await write();
      await compose();
      const files = async (reader: string): Promise<readonly string[]> => [...(await snapshot(shared(reader))).keys()];
      assert.deepEqual(await files('nginx'), ['tls/admin.key', 'tls/admin.pem', 'tls/api.key', 'tls/api.pem']);
      assert.deepEqual(await files('redis'), ['redis/users.acl']);
      assert.deepEqual(await files('mysql'), ['mysql/migrate']);
      assert.ok((await files('im-core')).includes('internal_api/crm/key-k1'));
      assert.ok(!(await files('im-core')).some((path) => path.startsWith('admin/') || path === 'mysql/migrate' || path === 'tls/api.key'));
      for (const { name, uid } of READERS) {
        for (const path of await files(name)) {
          const { mode, uid: owner } = await stat(join(shared(name), path));
          assert.deepEqual([mode & 0o777, owner], [0o600, uid], `${name} ${path}`);
        }
        assert.equal((await stat(shared(name))).mode & 0o777, 0o700);
      }
      const core = await loadImCoreConfig(join(home(), 'rendered/current/im-core.json'));
      assert.deepEqual(core.server.tcp.proxy_from, ['10.9.8.2']);
      assert.equal((await readFile(join(home(), 'state/runtime'), 'utf8')).trim(), 'compose');
    });

    it('changes nothing on a second run, and takes back what is no longer named', async () => {
      await write();
      await compose();
      const before = await snapshot(home());
      await compose();
      assert.deepEqual(await snapshot(home()), before);
      await write('port: 8443\n');
      await compose();
      assert.ok(!(await snapshot(shared('im-core'))).has('internal_api/crm/key-k1'));
    });

    it("hands on an operator's certificate, which the container could not read in its place", async () => {
      const made = await issue(await makeAuthority(NOW), 'api.localhost', NOW);
      await writeFile(join(folder, certFile), made.certificate, { mode: 0o600 });
      await writeFile(join(folder, keyFile), made.key, { mode: 0o600 });
      await write(`port: 8443\ntls: {api: {cert_file: ${join(folder, certFile)}, key_file: ${join(folder, keyFile)}}}\n`);
      await compose();
      assert.equal(await readFile(join(shared('nginx'), 'tls/own-api.key'), 'utf8'), made.key);
      const rendered = await readFile(join(home(), 'rendered/current/nginx/http/api.conf'), 'utf8');
      assert.match(rendered, /ssl_certificate \/appliance\/state\/tls\/own-api\.pem;/);
    });

    it('stops before anything is made when another port is published than the file says', async () => {
      await write();
      await assert.rejects(compose(443), (error) => error instanceof PreflightError && /APPLIANCE_PORT=8443/.test(error.message));
      await assert.rejects(stat(home()), { code: 'ENOENT' });
      const args = ['--file', join(folder, 'appliance.yml'), '--home', home(), '--runtime', 'compose', '--proxy-address', '10.9.8.2'];
      assert.equal((await program([...args, '--published-port', '443'])).code, 3);
      assert.equal((await program(args)).code, 2);
    });

    it('stops where the data are those of the other runtime', async () => {
      await run();
      await writeFile(join(home(), 'state/runtime'), 'process\n');
      await assert.rejects(compose(), (error) => error instanceof PreflightError && /process runtime/.test(error.message));
    });
  });

  it('is read by every service without a word too many or too few', async () => {
    const { hash } = await run();
    const current = join(home(), 'rendered/current');
    const core = await loadImCoreConfig(join(current, 'im-core.json'));
    const outbox = await loadOutboxAndCronConfig(join(current, 'outbox-and-cron.json'));
    const hotgo = await loadHotgoAdminApiConfig(join(current, 'hotgo-admin-api.json'));
    const migrate = await readMigrateConfig(join(current, 'migrate.json'));
    assert.deepEqual(
      [core, outbox, hotgo].map((config) => [config.config_hash, config.service]),
      [
        [hash, 'im-core'],
        [hash, 'outbox-and-cron'],
        [hash, 'hotgo-admin-api'],
      ],
    );
    assert.deepEqual(core.tenants, [{ code: 'default', database: 'im_default' }]);
    assert.deepEqual(
      [core, outbox, hotgo].map(({ mysql }) => mysql.user),
      ['im_core', 'im_worker', 'hotgo_admin'],
    );
    assert.equal(core.kafka.topics.find(({ name }) => name === 'im.audit.event')?.retention_ms, 3 * DAY_MS);
    assert.equal(migrate.kafka.topics.length, 12);
    assert.deepEqual(
      core.internal_api.services.map(({ name, allow }) => [name, allow]),
      [
        ['crm', ['alarm']],
        ['hotgo-admin', ['admin_query']],
        ['mes', ['alarm', 'admin_query']],
      ],
    );
    assert.equal(hotgo.im_core.key.secret_file, core.internal_api.services[1]?.keys[0]?.secret_file);
    assert.equal(core.admin_internal_api.key.secret_file, hotgo.admin_internal_api.services[0]?.keys[0]?.secret_file);
  });

  it('keeps secrets out of what it renders, closed to others, one for each, and for ever', async () => {
    await run();
    const state = await snapshot(join(home(), 'state'));
    const secrets = await Promise.all(
      [...state.keys()]
        .filter((path) => /^(mysql|redis|kafka|auth|admin|internal_api|admin_internal_api)\//.test(path) && !path.endsWith('.acl'))
        .map(async (path) => (await readFile(join(home(), 'state', path), 'utf8')).trim()),
    );
    assert.ok(secrets.length >= 15);
    assert.equal(new Set(secrets).size, secrets.length);
    assert.ok(secrets.includes('crm-secret-crm-secret-crm-secret-1234'));
    for (const [path, line] of state) assert.ok(line.startsWith(path === 'ca.pem' ? '644 ' : '600 '), `${path} ${line}`);
    const current = join(home(), 'rendered', await readlink(join(home(), 'rendered/current')));
    for (const path of (await snapshot(current)).keys()) {
      const text = await readFile(join(current, path), 'utf8');
      assert.ok(!secrets.some((secret) => text.includes(secret)), path);
    }
    await run(`${FILE}taskpool: {size: 10}\n`);
    assert.deepEqual(await snapshot(join(home(), 'state')), state);
    await rm(join(home(), 'state/mysql/im_core'));
    await run();
    const after = await snapshot(join(home(), 'state'));
    assert.deepEqual(
      [...after].filter(([path, line]) => state.get(path) !== line).map(([path]) => path),
      ['mysql/im_core'],
    );
  });

  it('puts a changed configuration beside the old one and points to it', async () => {
    const first = await run();
    const second = await run(`${FILE}taskpool: {size: 10}\n`);
    assert.notEqual(first.hash, second.hash);
    assert.equal(await readlink(join(home(), 'rendered/current')), second.hash);
    await mkdir(join(home(), 'rendered/.new-left'), { recursive: true });
    const third = await run();
    assert.deepEqual([third.hash, third.isChanged], [first.hash, true]);
    await run(`${FILE}taskpool: {size: 11}\n`);
    assert.ok(!(await readdir(join(home(), 'rendered'))).some((name) => name.startsWith('.')));
  });

  it('makes a rendered directory whole again that somebody edited', async () => {
    const { hash } = await run();
    const file = join(home(), 'rendered', hash, 'im-core.json');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('8443', '1'));
    await writeFile(join(home(), 'rendered', hash, 'stray'), '');
    assert.equal((await run()).isChanged, true);
    assert.equal(await readFile(file, 'utf8'), text);
    await assert.rejects(stat(join(home(), 'rendered', hash, 'stray')), { code: 'ENOENT' });
  });

  describe('certificates', () => {
    const certificate = async (role: string): Promise<X509Certificate> =>
      new X509Certificate(await readFile(join(home(), `state/tls/${role}.pem`)));

    it('are made for 397 days by an authority of 10 years, each for its name alone', async () => {
      assert.deepEqual((await run()).renewed, ['api', 'im', 'admin']);
      const ca = new X509Certificate(await readFile(join(home(), 'state/ca.pem')));
      assert.ok(ca.ca && new Date(ca.validTo) > later(3_650));
      for (const role of ['api', 'im', 'admin']) {
        const made = await certificate(role);
        assert.ok(made.verify(ca.publicKey) && made.checkIssued(ca) && !made.ca);
        assert.equal(made.subjectAltName, `DNS:${role}.localhost`);
        assert.equal(Math.round((new Date(made.validTo).getTime() - NOW.getTime()) / DAY_MS), 397);
      }
    });

    it('stay until 30 days before their end, then each is made anew by the same authority', async () => {
      await run();
      const ca = await readFile(join(home(), 'state/ca.pem'), 'utf8');
      assert.deepEqual((await run(FILE, later(366))).renewed, []);
      const before = await certificate('api');
      assert.deepEqual((await run(FILE, later(368))).renewed, ['api', 'im', 'admin']);
      const after = await certificate('api');
      assert.notEqual(after.fingerprint256, before.fingerprint256);
      assert.notEqual(after.publicKey.export({ format: 'pem', type: 'spki' }), before.publicKey.export({ format: 'pem', type: 'spki' }));
      assert.equal(await readFile(join(home(), 'state/ca.pem'), 'utf8'), ca);
    });

    it('are made anew for another name, a lost key and a foreign key, the others untouched', async () => {
      await run();
      assert.deepEqual((await run(FILE.replace('api.localhost', 'chat.example.com'))).renewed, ['api']);
      await rm(join(home(), 'state/tls/im.key'));
      assert.deepEqual((await run(FILE.replace('api.localhost', 'chat.example.com'))).renewed, ['im']);
      await writeFile(join(home(), 'state/tls/im.key'), await readFile(join(home(), 'state/tls/admin.key')));
      assert.deepEqual((await run(FILE.replace('api.localhost', 'chat.example.com'))).renewed, ['im']);
    });

    it('of an operator are used where they lie, and refused when they do not fit', async () => {
      const authority = await makeAuthority(NOW);
      const good = await issue(authority, 'api.localhost', NOW);
      const other = await issue(authority, 'api.localhost', NOW);
      const [certFile, keyFile] = [join(folder, 'own.pem'), join(folder, 'own.key')];
      const text = `${FILE}tls: {api: {cert_file: ${certFile}, key_file: ${keyFile}}}\n`;
      const own = async (certificateText: string, key: string): Promise<void> => {
        await writeFile(certFile, certificateText);
        await writeFile(keyFile, key);
      };
      const refusedWith = async (expected: RegExp, now = NOW): Promise<void> => {
        await assert.rejects(
          run(text, now),
          (error) => error instanceof ConfigProblems && expected.test(error.message) && /:\d+:\d+ tls\.api\./.test(error.message),
        );
      };
      await refusedWith(/own\.pem cannot be read \(ENOENT\)/);
      await own('garbage', 'garbage');
      await refusedWith(/is not PEM of the right kind/);
      await own(good.certificate, other.key);
      await refusedWith(/key_file: is not the key of this certificate/);
      await own((await issue(authority, 'www.example.com', NOW)).certificate, good.key);
      await refusedWith(/cert_file: is not for api\.localhost/);
      await own(`${good.certificate}-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`, good.key);
      await refusedWith(/cert_file: TLS cannot use it/);
      await own(good.certificate, good.key);
      await refusedWith(/cert_file: expired on 2028-02-01/, later(398));
      await refusedWith(/cert_file: is not valid yet/, later(-2));
      const near = await run(text, later(380));
      assert.ok(
        near.warnings.some((warning) => warning.includes('expires in 16 days')),
        near.warnings.join(),
      );
      assert.deepEqual((await run(text)).renewed, []);
      assert.match(
        await readFile(join(home(), 'rendered/current/nginx/http/api.conf'), 'utf8'),
        new RegExp(`ssl_certificate ${certFile};`),
      );
      assert.deepEqual(await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]), [good.certificate, good.key]);
    });
  });

  it('is another configuration when a file that it names has another content: up must bring it to who reads it', async () => {
    const [keyFile, file] = [join(folder, 'key'), join(folder, 'keys.yml')];
    await writeFile(file, `internal_api: {services: {a: {allow: [alarm], keys: [{id: k1, secret_file: ${keyFile}}]}}}\n`);
    const hashWith = async (secret: string): Promise<string> => {
      await writeFile(keyFile, secret);
      return (await readSettings({ now: NOW, environment: {} }, file)).hash;
    };
    const first = await hashWith('x'.repeat(40));
    assert.notEqual(await hashWith('y'.repeat(40)), first);
    assert.equal(await hashWith('x'.repeat(40)), first);
  });

  it('refuses a key file that two programs would read as two keys', async () => {
    const [keyFile, file] = [join(folder, 'key'), join(folder, 'keys.yml')];
    await writeFile(file, `internal_api: {services: {a: {allow: [alarm], keys: [{id: k1, secret_file: ${keyFile}}]}}}\n`);
    for (const content of [
      Buffer.alloc(40, 0xff),
      `\ufeff${'x'.repeat(40)}`,
      `${'x'.repeat(20)}\n${'y'.repeat(20)}`,
      ` ${'x'.repeat(40)}`,
    ]) {
      await writeFile(keyFile, content);
      await assert.rejects(readSettings({ now: NOW, environment: {} }, file), /secret_file: must hold at least 32 printable characters/);
    }
  });

  it('warns of open registration on a public name, of keys that expired, and refuses one key file for two services', async () => {
    const keyFile = join(folder, 'key');
    await writeFile(keyFile, `${'x'.repeat(40)}\n`);
    const service = (name: string): string =>
      `${name}: {allow: [alarm], keys: [{id: k1, secret_file: ${keyFile}, not_after: "2020-01-01T00:00:00Z"}]}`;
    const file = join(folder, 'warn.yml');
    await writeFile(file, `domain: {api: api.example.com}\ninternal_api: {services: {${service('a')}}}\n`);
    const { warnings } = await readSettings({ now: NOW, environment: {} }, file);
    assert.equal(warnings.length, 2);
    assert.match(
      warnings.join('\n'),
      /auth\.registration is open and api\.example\.com[\s\S]*internal_api\.services\.a\.keys\[0\] expired/,
    );
    await writeFile(file, `domain: {api: api.example.com}\nauth: {registration: closed}\n`);
    assert.deepEqual((await readSettings({ now: NOW, environment: {} }, file)).warnings, []);
    await writeFile(file, `internal_api: {services: {${service('a')}, ${service('b')}}}\n`);
    await assert.rejects(readSettings({ now: NOW, environment: {} }, file), /services\.b\.keys\[0\]\.secret_file: is the same secret/);
  });
});
