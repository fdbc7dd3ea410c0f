import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join, resolve } from 'node:path';

const PROGRAM = resolve(import.meta.dirname, '../appliance');

interface Result {
  readonly code: number | null;
  readonly stderr: string;
}

async function appliance(...words: readonly string[]): Promise<Result> {
  const { promise, resolve: done } = Promise.withResolvers<Result>();
  const child = execFile(PROGRAM, [...words], (_error, _stdout, stderr) => {
    done({ code: child.exitCode, stderr });
  });
  return promise;
}

describe('scripts/appliance up', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp('/tmp/ima-up-');
  });
  afterEach(() => rm(directory, { recursive: true }));

  const place = (): readonly string[] => ['--home', join(directory, 'home'), '--file', join(directory, 'appliance.yml')];
  const madeNothing = (): Promise<void> => assert.rejects(access(join(directory, 'home')));

  it('exits 3 before it makes anything when the port is taken, and names who has it', async () => {
    const holder = createServer().listen(0, '0.0.0.0');
    await once(holder, 'listening');
    const address = holder.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    await writeFile(join(directory, 'appliance.yml'), `port: ${port}\n`);
    const { code, stderr } = await appliance('up', ...place());
    holder.close();
    assert.equal(code, 3);
    assert.match(stderr, new RegExp(`port ${port} is taken by .*\\(process ${process.pid}\\)`));
    await madeNothing();
  });

  it('exits 2 before it makes anything when the settings are refused', async () => {
    await writeFile(join(directory, 'appliance.yml'), 'prot: 443\n');
    const { code, stderr } = await appliance('up', ...place());
    assert.equal(code, 2);
    assert.match(stderr, /did you mean/);
    await madeNothing();
  });

  it('exits 3 when the data were made by the other runtime, and says where they lie', async () => {
    await writeFile(join(directory, 'appliance.yml'), '');
    await mkdir(join(directory, 'home/state'), { recursive: true });
    await writeFile(join(directory, 'home/state/runtime'), 'compose\n');
    await writeFile(join(directory, 'appliance.yml'), 'port: 1\n');
    const { code, stderr } = await appliance('up', '--runtime', 'process', ...place());
    assert.equal(code, 3);
    assert.match(stderr, /in the volumes im-appliance-[0-9a-f]{8}_mysql-data/);
    await writeFile(join(directory, 'home/state/runtime'), 'process\n');
    const other = await appliance('up', '--runtime', 'compose', ...place());
    assert.equal(other.code, 3);
    assert.ok(other.stderr.includes(join(directory, 'home/data')));
  });

  it('refuses an unknown option with exit code 2', async () => {
    const { code, stderr } = await appliance('up', '--runtme', 'process');
    assert.equal(code, 2);
    assert.match(stderr, /did you mean --runtime/);
  });
});
