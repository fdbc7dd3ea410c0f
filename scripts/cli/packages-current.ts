/** `node packages-current.ts CLONE`: exit code 0 when node_modules holds what package-lock.json names. Runs before anything is installed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean; readonly devOptional?: boolean }>>;
}

const [clone = '.'] = process.argv.slice(2);
process.exitCode = isCurrent(clone) ? 0 : 1;

function isCurrent(directory: string): boolean {
  try {
    const wanted = read(join(directory, 'package-lock.json')).packages;
    const installed = read(join(directory, 'node_modules/.package-lock.json')).packages;
    return Object.entries(wanted).every(([path, { version, optional = false }]) => {
      if (path === '') return true;
      const found = installed[path];
      return found === undefined ? optional : found.version === version; // Optional ones are for other machines.
    });
  } catch {
    return false;
  }
}

function read(file: string): LockFile {
  return JSON.parse(readFileSync(file, 'utf8')) as LockFile;
}
