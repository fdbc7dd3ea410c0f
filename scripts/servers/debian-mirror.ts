import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

const DEFAULT_MIRROR = 'http://deb.debian.org/debian';

/**
 * The Debian archive this machine already uses, so that a site's own mirror serves the servers too.
 * Takes the first main archive (a path that ends in `/debian`) of the given sources texts, in both formats of apt.
 */
export function debianMirrorOf(sources: readonly string[]): string {
  const lines = sources.flatMap((text) => text.split('\n')).filter((line) => !line.trimStart().startsWith('#'));
  const uris = lines.flatMap((line) => line.split(/\s+/)).filter((word) => /^https?:\/\/\S+\/debian\/?$/.test(word));
  return (uris[0] ?? DEFAULT_MIRROR).replace(/\/$/, '');
}

/** Reads apt's own sources; a machine without apt, or of another kind, gets the public archive. */
export async function debianMirror(aptDirectory = '/etc/apt'): Promise<string> {
  const parts = join(aptDirectory, 'sources.list.d');
  const names = await readdir(parts).catch(() => []);
  const files = [...names.filter((name) => /\.(sources|list)$/.test(name)).sort(), '../sources.list'];
  const texts = await Promise.all(files.map((name) => readFile(join(parts, name), 'utf8').catch(() => '')));
  return debianMirrorOf(texts);
}
