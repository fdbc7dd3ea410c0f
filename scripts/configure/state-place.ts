import { join } from 'node:path';

/** Where secrets and certificates are made, and under which paths those who read them find them. */
export interface StatePlace {
  /** HOME/state, as configure sees it. */
  readonly directory: string;
  /** The path in rendered files of what configure made at `path` below the directory. */
  shown(path: string): string;
  /** The same for a file of the operator's; `name` is what it is called below the directory where it cannot be read in its own place. */
  shownOwn(file: string, name: string): string;
  /** The file to read for a path that was shown. */
  source(shown: string): string;
}

/** Everybody reads where configure writes, and the operator's files where he keeps them. */
export function openPlace(directory: string): StatePlace {
  return { directory, shown: (path) => join(directory, path), shownOwn: (file) => file, source: (shown) => shown };
}

/** Each container sees, at `seen`, a directory of its own with what is meant for it. @see readers.ts */
export function sharedPlace(directory: string, seen: string): StatePlace {
  const own = new Map<string, string>();
  return {
    directory,
    shown: (path) => join(seen, path),
    shownOwn: (file, name) => {
      own.set(join(seen, name), file);
      return join(seen, name);
    },
    source: (shown) => own.get(shown) ?? join(directory, shown.slice(seen.length)),
  };
}
