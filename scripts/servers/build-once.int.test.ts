import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '#shared/testing/wait.ts';
import { buildOnce } from './build-once.ts';
import { tryLock } from './lock.ts';

describe('a build in the cache', () => {
  let cache: string;
  beforeEach(async () => {
    cache = await mkdtemp('/tmp/ima-cache-');
  });
  afterEach(() => rm(cache, { recursive: true }));

  const deps = () => ({ cache, progress: () => undefined });

  it('is made once when two want it at the same time', async () => {
    let builds = 0;
    const build = async (directory: string): Promise<void> => {
      builds += 1;
      await writeFile(join(directory, 'file'), 'whole');
    };
    const [one, other] = await Promise.all([buildOnce(deps(), 'thing', build), buildOnce(deps(), 'thing', build)]);
    assert.equal(one, other);
    assert.equal(builds, 1);
    assert.equal(await readFile(join(one, 'file'), 'utf8'), 'whole');
  });

  it('that fails leaves nothing, and the next try works', async () => {
    await assert.rejects(
      buildOnce(deps(), 'thing', () => Promise.reject(new Error('no network'))),
      /no network/,
    );
    assert.deepEqual(await readdir(cache), ['thing.lock']);
    await buildOnce(deps(), 'thing', () => Promise.resolve());
  });

  it('that was killed is not taken for finished, frees its lock, and is cleared away', async () => {
    const script = `
      import { buildOnce } from ${JSON.stringify(join(import.meta.dirname, 'build-once.ts'))};
      await buildOnce({ cache: ${JSON.stringify(cache)}, progress: () => undefined }, 'thing', async () => {
        process.stdout.write('building');
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    assert.equal(await tryLock(join(cache, 'thing.lock')), undefined);
    child.kill('SIGKILL');
    await once(child, 'close');
    assert.equal((await readdir(cache)).includes('thing'), false);
    await buildOnce(deps(), 'thing', () => Promise.resolve());
    await eventually(async () => (await readdir(cache)).filter((name) => name.includes('building')).length === 0, {
      what: 'a clean cache',
    });
  });
});
