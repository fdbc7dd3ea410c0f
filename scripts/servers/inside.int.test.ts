import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CACHE } from './build-once.ts';
import { run } from './command.ts';
import { inside } from './inside.ts';
import { checkNginx } from './nginx.ts';
import { serverRoot } from './root.ts';

describe('the root of a server', () => {
  let root: string;
  let directory: string;
  before(async () => {
    root = await serverRoot({ cache: CACHE, progress: () => undefined });
    directory = await mkdtemp('/etc/ima-'); // Closed to everybody but root, as a home is.
  });
  after(() => rm(directory, { recursive: true }));

  const check = async (config: string): Promise<void> => {
    const configFile = join(directory, 'nginx.conf');
    await writeFile(configFile, `user www-data;\n${config}\nevents {}\n`);
    await checkNginx({ serverRoot: root }, { configFile, directories: [] });
  };

  it('shows a directory at its own path, even below /etc', async () => {
    await check('');
  });

  it('lets nobody write to the programs that all appliances share', async () => {
    await assert.rejects(check('error_log /usr/share/written;'), /Read-only file system/);
  });

  it('gives a server its own user and no way to more rights', async () => {
    const [command = '', ...args] = inside(root, 999, [directory], ['/usr/bin/setpriv', '--dump']);
    const dump = await run(command, args);
    assert.match(dump, /^uid: 999$/m);
    assert.match(dump, /^no_new_privs: 1$/m);
    assert.match(dump, /^Ambient capabilities: \[none\]$/m);
  });
});
