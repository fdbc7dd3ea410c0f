import { randomBytes } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** Files of one configuration by their path below its directory. */
export type Tree = ReadonlyMap<string, string>;

/**
 * Makes `<rendered>/<hash>` hold exactly this tree and `current` point there. What is the same already is not touched, so that a second
 * run leaves not even a new time. It is written under another name and renamed; older configurations stay for who still reads them.
 */
export async function writeRendered(rendered: string, hash: string, tree: Tree): Promise<boolean> {
  const target = join(rendered, hash);
  const isSame = await holds(target, tree);
  if (!isSame) {
    const unfinished = join(rendered, `.new-${randomBytes(4).toString('hex')}`);
    await removeUnfinished(rendered);
    await writeTree(unfinished, tree);
    const old = join(rendered, `.old-${randomBytes(4).toString('hex')}`);
    await rename(target, old).catch(ignoreAbsent);
    await rename(unfinished, target);
    await rm(old, { recursive: true, force: true });
  }
  return (await pointTo(rendered, hash)) || !isSame;
}

async function writeTree(directory: string, tree: Tree): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const [path, content] of tree) {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content, { mode: 0o644 });
    await chmod(file, 0o644); // No secret is in it, and servers read it as their own users.
  }
}

async function holds(directory: string, tree: Tree): Promise<boolean> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const present = entries.filter((entry) => entry.isFile()).map((entry) => relative(directory, join(entry.parentPath, entry.name)));
  if (present.length !== tree.size || !present.every((path) => tree.has(path))) return false;
  const contents = await Promise.all(present.map(async (path) => (await readFile(join(directory, path), 'utf8')) === tree.get(path)));
  return contents.every(Boolean);
}

/** Replaces the link in one step. @returns whether it pointed elsewhere */
async function pointTo(rendered: string, hash: string): Promise<boolean> {
  const link = join(rendered, 'current');
  if ((await readlink(link).catch(() => undefined)) === hash) return false;
  const next = join(rendered, `.link-${randomBytes(4).toString('hex')}`);
  await symlink(hash, next);
  await rename(next, link);
  return true;
}

async function removeUnfinished(rendered: string): Promise<void> {
  await mkdir(rendered, { recursive: true });
  const leftovers = (await readdir(rendered)).filter((name) => /^\.(?:new|old|link)-/.test(name));
  for (const name of leftovers) {
    const path = join(rendered, name);
    await rm(path, { recursive: (await lstat(path)).isDirectory(), force: true });
  }
}

function ignoreAbsent(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
