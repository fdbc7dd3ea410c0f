import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

describe('scripts/appliance check', function () {
  this.timeout(30_000);
  let folder: string;

  before(async () => {
    folder = await mkdtemp('/tmp/ima-check-');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function check(text: string, ...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
    const file = join(folder, 'appliance.yml');
    await writeFile(file, text);
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, 'main.ts'), 'check', '--file', file, '--home', join(folder, 'home'), ...args],
      {
        env: { KAFKA_BROKERS: 'evil:9092' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    child.stderr.on('data', (chunk) => (err += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    return { code, out, err };
  }

  it('says ok with its warnings, and makes nothing', async () => {
    const { code, out, err } = await check('domain: {api: chat.example.com}\n');
    assert.deepEqual([code, err], [0, '']);
    assert.match(out, /^warning: auth\.registration is open and chat\.example\.com/m);
    assert.match(out, /^warning: the environment variable KAFKA_BROKERS is ignored/m);
    assert.match(out, /^appliance\.yml: ok \(configuration [0-9a-f]{16}\)$/m);
    assert.ok(!out.includes('evil'));
    assert.deepEqual(await readdir(folder), ['appliance.yml']);
  });

  it('exits 2 with every problem, one a line', async () => {
    const { code, out, err } = await check('prot: 443\nlog: {level: lots}\n');
    assert.deepEqual([code, out], [2, '']);
    assert.deepEqual(err.split('\n'), [
      'appliance.yml:1:1 prot: unknown key "prot" (did you mean "port"?)',
      'appliance.yml:2:14 log.level: must be one of "debug", "info", "warn", "error", got string "lots"',
      '',
    ]);
  });

  it('says the same as JSON', async () => {
    const bad = await check('prot: 443\n', '--json');
    assert.equal(bad.code, 2);
    assert.deepEqual(JSON.parse(bad.out), {
      ok: false,
      problems: [{ line: 1, column: 1, path: 'prot', message: 'unknown key "prot" (did you mean "port"?)' }],
      warnings: [],
    });
    const good = await check('port: 443\n', '--json');
    assert.equal(good.code, 0);
    assert.equal((JSON.parse(good.out) as { ok: boolean }).ok, true);
  });
});
