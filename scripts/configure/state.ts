/** What configure makes once and never changes by itself: HOME/state. Every write is complete or not there at all. */
import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** 32 random bytes as text; whoever signs or logs in uses the text. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Makes the secret at `path` (below HOME/state) unless it is there. @returns its text */
export async function ensureSecret(state: string, path: string): Promise<string> {
  const file = join(state, path);
  const present = await readIfThere(file);
  if (present !== undefined && present.trim() !== '') return present.trimEnd();
  const secret = newSecret();
  await writePrivate(file, `${secret}\n`);
  return secret;
}

/** Writes a file for its owner alone, unless it has this content. An existing file keeps its owner. @returns whether it was written */
export async function writePrivate(file: string, content: string): Promise<boolean> {
  if ((await readIfThere(file)) === content) return false;
  const before = await stat(file).catch(() => undefined);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeWhole(file, content, 0o600, before);
  return true;
}

/** Writes beside the file, flushes, and renames: after a power cut there is the old file or the new one. */
export async function writeWhole(
  file: string,
  content: string,
  mode: number,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const unfinished = `${file}.${randomBytes(4).toString('hex')}.new`;
  try {
    const handle = await open(unfinished, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(unfinished, mode); // whatever the umask took away
    if (owner !== undefined) await chown(unfinished, owner.uid, owner.gid);
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true }); // A full disk must not keep pieces of secrets.
    throw error;
  }
}

export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
