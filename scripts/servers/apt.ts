import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandFailed, run } from './command.ts';
import { lock } from './lock.ts';

const PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** Whether a program of this name is installed where Debian puts programs. */
export async function isInstalled(program: string): Promise<boolean> {
  const found = await Promise.all(PATH.map((directory) => isExecutable(join(directory, program))));
  return found.includes(true);
}

/**
 * Installs Debian packages for the programs that are missing; does nothing when none is.
 * One installation at a time: apt refuses a second one.
 */
export async function installPrograms(
  cache: string,
  packages: Readonly<Record<string, readonly string[]>>,
  progress: (line: string) => void,
): Promise<void> {
  const held = await lock(join(cache, 'apt.lock'), () => progress('waiting for another installation'));
  try {
    const missing = [];
    for (const [program, names] of Object.entries(packages)) {
      if (!(await isInstalled(program))) missing.push(...names);
    }
    if (missing.length === 0) return;
    if (!(await isInstalled('apt-get'))) {
      throw new CommandFailed(`this machine lacks ${missing.join(', ')} and has no apt-get: the process runtime needs Debian or Ubuntu`);
    }
    progress(`installing ${missing.join(' ')}`);
    const quiet = ['-o', 'DPkg::Lock::Timeout=120'];
    await run('apt-get', [...quiet, 'update']);
    await run('env', ['DEBIAN_FRONTEND=noninteractive', 'apt-get', ...quiet, 'install', '-y', '--no-install-recommends', ...missing]);
  } finally {
    await held.release();
  }
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
