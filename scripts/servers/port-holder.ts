import { readFile, readdir, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** Whether somebody listens on this TCP port of the machine, on any address. */
export async function isPortTaken(port: number): Promise<boolean> {
  const taken = await Promise.all(['0.0.0.0', '::'].map((host) => cannotListen(port, host)));
  return taken.includes(true);
}

async function cannotListen(port: number, host: string): Promise<boolean> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  // Any other refusal (no IPv6 here) is not for us to judge.
  server.once('error', (error) => resolve('code' in error && error.code === 'EADDRINUSE'));
  server.listen({ port, host, ipv6Only: host === '::' }, () => resolve(false));
  const isTaken = await promise;
  if (server.listening) await new Promise((done) => server.close(done));
  return isTaken;
}

/** Who listens on the port, such as `nginx (process 812)`; undefined where it cannot be known. */
export async function portHolder(port: number): Promise<string | undefined> {
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')));
  return holderOf(new Set(tables.flatMap((table) => listeningInodes(table, port))));
}

/** Who has a socket with one of these inodes open. */
export async function holderOf(inodes: ReadonlySet<string>): Promise<string | undefined> {
  if (inodes.size === 0) return undefined;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    if (await hasSocket(pid, inodes)) return `${(await readFile(`/proc/${pid}/comm`, 'utf8')).trim()} (process ${pid})`;
  }
  return undefined;
}

/** Inodes of the sockets that listen on the port, from the text of /proc/net/tcp. */
export function listeningInodes(table: string, port: number): readonly string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${wanted}`) === true && state === '0A')
    .flatMap((fields) => fields[9] ?? []);
}

async function hasSocket(pid: string, inodes: ReadonlySet<string>): Promise<boolean> {
  const directory = join('/proc', pid, 'fd');
  for (const name of await readdir(directory).catch(() => [])) {
    const target = await readlink(join(directory, name)).catch(() => '');
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined && inodes.has(inode)) return true;
  }
  return false;
}
