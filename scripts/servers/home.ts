import { mkdir, chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Paths below the appliance's own directory. */
export function homePaths(home: string) {
  const run = join(home, 'run');
  return {
    run,
    logs: join(home, 'logs'),
    state: join(home, 'state'),
    rendered: join(home, 'rendered/current'),
    runtime: join(home, 'state/runtime'),
    /** The configuration hash that was migrated last. */
    migrated: join(home, 'state/migrated'),
    control: join(run, 'supervisor.sock'),
    pid: join(run, 'supervisor.pid'),
    lock: join(run, 'supervisor.lock'),
    log: (part: string): string => join(home, 'logs', `${part}.log`),
    data: (part: string): string => join(home, 'data', part),
    socket: (name: string): string => join(run, `${name}.sock`),
  };
}

/** Makes the directory and closes it to everybody but root: sockets and secrets are below. */
export async function makeHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true });
  await chmod(home, 0o700);
  for (const name of ['run', 'logs', 'data', 'state']) await mkdir(join(home, name), { recursive: true });
  await chmod(join(home, 'state'), 0o700);
}

export async function readText(file: string): Promise<string | undefined> {
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}
