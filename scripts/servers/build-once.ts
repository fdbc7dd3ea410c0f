import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { lock } from './lock.ts';

export interface BuildDeps {
  /** What is expensive to make lies here, outside every clone, and is shared by all appliances of the machine. */
  readonly cache: string;
  readonly progress: (line: string) => void;
}

export const CACHE = '/var/cache/im-appliance';

/**
 * Makes the directory `<cache>/<name>` once and returns its path.
 *
 * It is built under another name and renamed when it is complete, so what has the right name is whole: a build that was killed
 * leaves only a directory that the next build removes. A second builder waits for the first and then finds its result.
 */
export async function buildOnce(
  { cache, progress }: BuildDeps,
  name: string,
  build: (directory: string) => Promise<void>,
): Promise<string> {
  const finished = join(cache, name);
  if (await exists(finished)) return finished;
  await mkdir(cache, { recursive: true });
  const held = await lock(join(cache, `${name}.lock`), () => progress('waiting for another build of the same'));
  try {
    if (await exists(finished)) return finished;
    await removeUnfinished(cache, name);
    const directory = await mkdtemp(join(cache, `${name}.building-`));
    try {
      await build(directory);
      await rename(directory, finished);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
    return finished;
  } finally {
    await held.release();
  }
}

/** Twelve hex digits that change when any of the parts changes. */
export function recipeHash(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

async function removeUnfinished(cache: string, name: string): Promise<void> {
  const names = await readdir(cache);
  const unfinished = names.filter((entry) => entry.startsWith(`${name}.building-`));
  await Promise.all(unfinished.map((entry) => rm(join(cache, entry), { recursive: true, force: true })));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
