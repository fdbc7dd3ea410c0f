/** How `docker compose` is called on this machine. */
import { access, chmod, copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildDeps } from '../servers/build-once.ts';
import { buildOnce, CACHE } from '../servers/build-once.ts';
import { run } from '../servers/command.ts';
import { unpackPackages } from '../servers/root.ts';

/** The first words of the command line. */
export type ComposeCommand = readonly [string, ...string[]];

const PLUGIN: ComposeCommand = ['docker', 'compose'];
/** Raise it to fetch the package anew. */
const NAME = 'docker-compose-1';
const STAND_ALONE = join(CACHE, NAME, 'docker-compose');

/** @returns undefined where there is none of version 2 or newer */
export async function composeCommand(): Promise<ComposeCommand | undefined> {
  const version = await run('docker', ['compose', 'version', '--short']).catch(() => '');
  if (/^v?([2-9]|\d\d)\./.test(version)) return PLUGIN;
  return access(STAND_ALONE).then(
    () => [STAND_ALONE],
    () => undefined,
  );
}

/** The one that is there, or Debian's: it needs no installation and works without the docker program knowing it. */
export async function ensureCompose(deps: BuildDeps): Promise<ComposeCommand> {
  const present = await composeCommand();
  if (present !== undefined) return present;
  const directory = await buildOnce(deps, NAME, async (building) => {
    const root = join(building, 'root');
    await unpackPackages(deps, root, ['docker-compose']);
    const program = join(building, 'docker-compose');
    await copyFile(join(root, 'usr/libexec/docker/cli-plugins/docker-compose'), program);
    await chmod(program, 0o755);
    await run('rm', ['-rf', root]);
  });
  return [join(directory, 'docker-compose')];
}
