/**
 * The server root: one Debian directory with the programs of MySQL, Redis, nginx and a Java runtime, the same versions on every machine.
 *
 * Packages are unpacked, not installed: no maintainer script runs, there is no shell inside, and it takes a third of the time. What the
 * scripts would have made and our servers need (accounts, the merged-usr links) is written here. Nothing runs with this directory as its
 * root, and nothing writes to it: see enter-root.sh.
 */
import { chmod, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installPrograms } from './apt.ts';
import type { BuildDeps } from './build-once.ts';
import { buildOnce, recipeHash } from './build-once.ts';
import { run } from './command.ts';
import { debianMirror } from './debian-mirror.ts';

export const SUITE = 'sid';
const PACKAGES = [
  'util-linux', // setpriv
  'mysql-server-core',
  'mysql-client-core',
  'redis-server',
  'redis-tools',
  'nginx',
  'libnginx-mod-stream',
  'openjdk-21-jre-headless',
];

/** Files nobody reads at run time; about a tenth of the whole. */
const UNUSED = ['doc', 'man', 'info', 'locale', 'lintian', 'bash-completion', 'gdb', 'perl', 'perl5'].map((name) => `usr/share/${name}`);

/** Numeric users of the servers. They need not exist on the machine. */
export const SERVER_USERS = { mysql: 999, redis: 999, kafka: 1000, nginxWorker: 33 } as const;

const ACCOUNTS = {
  passwd: [
    'root:x:0:0:root:/root:/sbin/nologin',
    'www-data:x:33:33::/nonexistent:/sbin/nologin',
    'server:x:999:999::/nonexistent:/sbin/nologin',
    'kafka:x:1000:1000::/nonexistent:/sbin/nologin',
  ],
  group: ['root:x:0:', 'adm:x:4:', 'www-data:x:33:', 'server:x:999:', 'kafka:x:1000:'],
};

/** Raise it when anything below changes what the directory holds. */
const RECIPE = 1;

export interface ServerVersions {
  readonly mysql: string;
  readonly redis: string;
  readonly nginx: string;
  readonly java: string;
}

/** Path of the server root; built by the first caller, about 15 s and 150 MB of packages. */
export async function serverRoot(deps: BuildDeps): Promise<string> {
  return buildOnce(deps, `server-root-${recipeHash(SUITE, PACKAGES, UNUSED, ACCOUNTS, RECIPE)}`, async (directory) => {
    await unpackPackages(deps, directory, PACKAGES);
    await furnish(directory);
    await recordVersions(directory);
  });
}

/** Versions of the programs of a finished root. */
export async function serverVersions(root: string): Promise<ServerVersions> {
  return JSON.parse(await readFile(join(root, 'versions.json'), 'utf8')) as ServerVersions;
}

/** The Java program of a server root, as seen from inside it. */
export async function javaHome(root: string): Promise<string> {
  const names = await readdir(join(root, 'usr/lib/jvm'));
  const name = names.find((entry) => entry.startsWith('java-21-openjdk-'));
  if (name === undefined) throw new Error(`no Java runtime in ${root}`);
  return `/usr/lib/jvm/${name}`;
}

/** Unpacks Debian packages, and what they need, into an empty directory. */
export async function unpackPackages({ cache, progress }: BuildDeps, directory: string, packages: readonly string[]): Promise<void> {
  await installPrograms(cache, { mmdebstrap: ['mmdebstrap', 'debian-archive-keyring'] }, progress);
  const options = {
    // The archive's own lists may be older than the date they promise, on a mirror or an offline copy.
    'Acquire::Check-Valid-Until': 'false',
    'APT::Install-Recommends': 'false',
    'Acquire::Languages': 'none',
  };
  await run(
    'mmdebstrap',
    [
      '--mode=root',
      '--variant=extract',
      '--format=directory',
      ...Object.entries(options).map(([name, value]) => `--aptopt=${name} "${value}"`),
      `--include=${packages.join(',')}`,
      SUITE,
      directory,
      await debianMirror(),
    ],
    { onLine: (line) => progress(line.replace(/^I: /, '')) },
  );
}

/** Makes of unpacked packages what programs find in order: accounts, links, names. */
export async function furnish(directory: string): Promise<void> {
  await chmod(directory, 0o755); // It began as a private temporary directory.
  await Promise.all(UNUSED.map((path) => rm(join(directory, path), { recursive: true, force: true })));
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    await rm(join(directory, name), { recursive: true, force: true });
    await symlink(`usr/${name}`, join(directory, name));
  }
  // Where enter-root.sh lays the root that a server sees.
  await mkdir(join(directory, 'skeleton'), { recursive: true });
  for (const [name, lines] of Object.entries(ACCOUNTS)) await writeFile(join(directory, 'etc', name), `${lines.join('\n')}\n`);
  await writeFile(join(directory, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
  await writeFile(join(directory, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n');
}

/** Running each program once also proves that nothing it links to is missing. */
async function recordVersions(root: string): Promise<void> {
  const inRoot = (...command: readonly string[]): Promise<string> => run('chroot', [root, ...command]);
  const java = await javaHome(root);
  const versions: ServerVersions = {
    mysql: versionIn(await inRoot('/usr/sbin/mysqld', '--version')),
    redis: versionIn(await inRoot('/usr/bin/redis-server', '--version')),
    nginx: versionIn((await run('sh', ['-c', 'exec chroot "$1" /usr/sbin/nginx -v 2>&1', 'sh', root])).split('/')[1] ?? ''),
    java: versionIn(await readFile(join(root, java, 'release'), 'utf8').catch(() => '21')),
  };
  await writeFile(join(root, 'versions.json'), `${JSON.stringify(versions, null, 2)}\n`);
}

/** The first thing in a text that looks like a version. */
function versionIn(text: string): string {
  const found = /\d+(\.\d+)+/.exec(text);
  if (found === null) throw new Error(`no version in ${JSON.stringify(text.slice(0, 80))}`);
  return found[0];
}
