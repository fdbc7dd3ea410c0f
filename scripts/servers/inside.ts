import { chmod, chown, mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What every server of the server root needs to start. */
export interface ServerDeps {
  /** From serverRoot(). */
  readonly serverRoot: string;
  /** Called for each line a server writes. */
  readonly onLine?: (line: string) => void;
  /** Gives up a start that is under way. */
  readonly stopping?: AbortSignal;
}

const ENTER = join(import.meta.dirname, 'enter-root.sh');

/** The command line that runs `command` inside the server root as `uid`, with these directories at their own paths. */
export function inside(serverRoot: string, uid: number, directories: readonly string[], command: readonly string[]): readonly string[] {
  // A directory that lies in another one of the list is there already; mounted first, it would be hidden by the other.
  const outermost = [...new Set(directories)].filter((one) => !directories.some((other) => one.startsWith(`${other}/`)));
  return [ENTER, serverRoot, String(uid), ...outermost, '--', ...command];
}

/** A directory that only this user may enter. */
export async function ownDirectory(path: string, uid: number): Promise<void> {
  await mkdir(path, { recursive: true });
  await chown(path, uid, uid);
  await chmod(path, 0o700);
}

/**
 * A directory where servers of several users put their sockets, each unable to remove another's.
 * Outsiders are kept out by the appliance's own directory above it, which is root's alone.
 */
export async function socketDirectory(socketPath: string): Promise<string> {
  const directory = dirname(socketPath);
  await mkdir(directory, { recursive: true });
  await chmod(directory, 0o1777);
  return directory;
}

/**
 * Fills a server's data directory at its first start. It is filled under another name and renamed, so a start that was killed half-way
 * begins anew.
 */
export async function fillOnce(directory: string, uid: number, fill: (unfinished: string) => Promise<void>): Promise<void> {
  if (await isThere(directory)) return;
  const unfinished = `${directory}.building`;
  await rm(unfinished, { recursive: true, force: true });
  await ownDirectory(unfinished, uid);
  await fill(unfinished);
  await rename(unfinished, directory);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
