/**
 * The containers of the compose runtime, each a user of its own, and the secrets it may read. A container sees one directory,
 * state/for/<name>, with copies that belong to its user alone (0600): exactly those that its rendered files name.
 */
import { chmod, chown, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Tree } from './rendered.ts';
import { readIfThere, writeWhole } from './state.ts';
import type { StatePlace } from './state-place.ts';

export interface Reader {
  /** The service of compose.yaml. */
  readonly name: string;
  /** Its numeric user, as compose.yaml gives it. */
  readonly uid: number;
  /** Which rendered files it reads, by the beginning of their path. */
  readonly reads: string;
  /** What it reads besides, below the state. */
  readonly also?: readonly string[];
}

export const READERS: readonly Reader[] = [
  { name: 'im-core', uid: 10_001, reads: 'im-core.json' },
  { name: 'outbox-and-cron', uid: 10_002, reads: 'outbox-and-cron.json' },
  { name: 'hotgo-admin-api', uid: 10_003, reads: 'hotgo-admin-api.json' },
  { name: 'migrate', uid: 10_004, reads: 'migrate.json' },
  { name: 'nginx', uid: 101, reads: 'nginx/' },
  { name: 'redis', uid: 999, reads: 'redis.conf' },
  { name: 'mysql', uid: 999, reads: 'mysql.cnf', also: ['mysql/migrate'] },
];

/** Gives each reader what its files name, and takes back what they no longer name. What is right already is not written again. */
export async function shareState(place: StatePlace, tree: Tree): Promise<void> {
  await chmod(place.directory, 0o700); // The engine may have made it, open to all.
  for (const reader of READERS) await share(place, reader, tree);
}

async function share(place: StatePlace, reader: Reader, tree: Tree): Promise<void> {
  const seen = place.shown('');
  const directory = join(place.directory, 'for', reader.name);
  const wanted = new Map(
    [...named(reader, tree, seen), ...(reader.also ?? []).map((path) => place.shown(path))].map((shown) => [
      join(directory, relative(seen, shown)),
      place.source(shown),
    ]),
  );
  await ownDirectory(directory, reader);
  for (const [file, source] of wanted) {
    for (const above of directoriesBetween(directory, dirname(file))) await ownDirectory(above, reader);
    await copyFor(reader, source, file);
  }
  const present = await readdir(directory, { recursive: true, withFileTypes: true });
  const surplus = present.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const file of surplus.filter((path) => !wanted.has(path))) await rm(file);
}

/** Every path below the state that a reader's files contain. */
function named({ reads }: Reader, tree: Tree, seen: string): readonly string[] {
  const texts = [...tree].filter(([path]) => path.startsWith(reads)).map(([, text]) => text);
  const words = texts.flatMap((text) => text.split(/[\s";]+/));
  return [...new Set(words.filter((word) => word.startsWith(`${seen}/`)))];
}

function directoriesBetween(top: string, bottom: string): readonly string[] {
  return bottom === top ? [] : [...directoriesBetween(top, dirname(bottom)), bottom];
}

async function ownDirectory(path: string, { uid }: Reader): Promise<void> {
  await mkdir(path, { recursive: true });
  await chown(path, uid, uid);
  await chmod(path, 0o700);
}

async function copyFor({ uid }: Reader, source: string, file: string): Promise<void> {
  const content = await readFile(source, 'utf8');
  const before = await stat(file).catch(() => undefined);
  const isRight = before?.uid === uid && (before.mode & 0o777) === 0o600 && (await readIfThere(file)) === content;
  if (!isRight) await writeWhole(file, content, 0o600, { uid, gid: uid });
}
