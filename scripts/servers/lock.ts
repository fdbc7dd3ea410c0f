import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A lock of the kernel's. It ends with this process, however that ends, so it can never be stale. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * Waits until nobody else holds the lock of `file`. `onWait` is called once when somebody does.
 *
 * Node has no flock(2): a small child holds it and ends when its input, a pipe from here, is closed.
 */
export async function lock(file: string, onWait: () => void = () => undefined): Promise<Lock> {
  const now = await tryLock(file);
  if (now !== undefined) return now;
  onWait();
  const lockOrNot = await holdLock(file, []);
  if (lockOrNot === undefined) throw new Error(`could not lock ${file}`);
  return lockOrNot;
}

/** Takes the lock of `file` if it is free. @returns undefined when somebody holds it */
export async function tryLock(file: string): Promise<Lock | undefined> {
  return holdLock(file, ['--nonblock']);
}

async function holdLock(file: string, flags: readonly string[]): Promise<Lock | undefined> {
  await mkdir(dirname(file), { recursive: true });
  // --no-fork would keep the file open in `cat` alone; `sh` answers first, so that we know when the lock is ours.
  const child = spawn('flock', [...flags, '--no-fork', file, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true, // A Ctrl-C in the terminal must not drop the lock before we are done.
  });
  child.stdin.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const held = await new Promise<boolean>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(false));
    child.stdout.once('data', () => resolve(true));
  });
  if (!held) return undefined;
  child.unref();
  return {
    async release() {
      child.ref();
      child.stdin.end();
      await closed;
    },
  };
}
