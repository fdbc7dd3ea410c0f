import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { underTest } from './people.ts';

describe('a second start', () => {
  before(function onlyOurs() {
    if (!underTest().isOwn) this.skip();
  });

  it('changes nothing: the same files, the same processes (T6)', async () => {
    const before = await snapshot();
    const { code, stdout } = await underTest().run(['up']);
    assert.equal(code, 0);
    assert.match(stdout, /it runs already; nothing was changed/);
    assert.deepEqual(await snapshot(), before);
  });

  it('says how the appliance is, with exit code 0 when all is well', async () => {
    const { code, stdout } = await underTest().run(['status']);
    assert.equal(code, 0);
    assert.match(stdout, /^healthy/);
  });
});

/** What must stay: content and times of secrets and configuration, and which processes run. */
async function snapshot(): Promise<readonly string[]> {
  const { home } = underTest();
  const files = ['state', 'rendered'].map((folder) => filesBelow(join(home, folder)));
  const { stdout } = await underTest().run(['status', '--json']);
  const { parts } = JSON.parse(stdout) as { readonly parts: readonly { readonly name: string; readonly pid: number }[] };
  return [...(await Promise.all(files)).flat(), ...parts.map(({ name, pid }) => `${name} is process ${pid}`)];
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return Promise.all(
    paths.map(async (path) => {
      const { mtimeMs, mode, uid } = await stat(path);
      return [
        path,
        mtimeMs,
        mode,
        uid,
        createHash('sha256')
          .update(await readFile(path))
          .digest('hex'),
      ].join(' ');
    }),
  );
}
