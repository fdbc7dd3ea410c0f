/**
 * Stand-ins for the official images, for machines that reach no image registry: the same versions, paths and owners, made of the Debian
 * packages and jars that the process runtime uses. They carry the official names, so compose.yaml and the product's Dockerfile do not know.
 */
import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildDeps } from '../servers/build-once.ts';
import { buildOnce, recipeHash } from '../servers/build-once.ts';
import { run } from '../servers/command.ts';
import { kafkaJars } from '../servers/kafka-jars.ts';
import { furnish, serverRoot, SUITE, unpackPackages } from '../servers/root.ts';

/** What the official images have besides their program, and our containers use. */
const TOOLS = ['bash', 'dash', 'coreutils', 'sed', 'grep', 'findutils', 'tar', 'gzip', 'curl', 'libstdc++6', 'libatomic1', 'base-files'];
const NPM = 'npm@11.21.2';
/** Label of a stand-in; its value is what it was made from. */
export const STAND_IN_LABEL = 'im-appliance.stand-in';
const FILES = join(import.meta.dirname, 'stand-in');
/** Authorities of a Debian machine. */
const HOST_AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
/** Raise it when something below changes what an image holds. */
const RECIPE = 1;

export const STAND_INS = ['mysql', 'redis', 'nginx', 'kafka', 'node'] as const;
export type StandIn = (typeof STAND_INS)[number];

/** Which one stands in for an image such as `mysql:9.7.4` or `apache/kafka:4.4.0`. */
export function standInFor(image: string): StandIn | undefined {
  const name = image.split(':')[0]?.split('/').at(-1);
  return STAND_INS.find((standIn) => standIn === name);
}

/** What a stand-in is made from, as text that changes when it must be made anew. */
export async function standInRecipe(kind: StandIn): Promise<string> {
  const files = [`${kind}/Dockerfile`, ...(kind === 'nginx' ? ['nginx/nginx'] : [])];
  return recipeHash(RECIPE, TOOLS, NPM, await Promise.all(files.map((file) => readFile(join(FILES, file), 'utf8'))));
}

/** Builds one stand-in under the official name. */
export async function buildStandIn(deps: BuildDeps, kind: StandIn, image: string): Promise<void> {
  const base = kind === 'node' ? await toolsImage(deps) : await serversImage(deps);
  await withContext(deps, kind, image, async (context) => {
    await run('docker', [
      'build',
      '--tag',
      image,
      '--label',
      `${STAND_IN_LABEL}=${await standInRecipe(kind)}`,
      '--build-arg',
      `BASE=${base}`,
      '--file',
      join(FILES, kind, 'Dockerfile'),
      context,
    ]);
  });
}

/** A directory with the files that the Dockerfile copies. */
async function withContext(deps: BuildDeps, kind: StandIn, image: string, build: (context: string) => Promise<void>): Promise<void> {
  if (kind === 'kafka') return build(await kafkaJars(deps));
  if (kind !== 'node') return build(join(FILES, kind));
  const version = image.split(/[:-]/)[1] ?? '';
  if (process.version !== `v${version}`) throw new Error(`${image} is wanted, but this is Node ${process.version}`);
  const context = await mkdtemp(join(deps.cache, 'node-image-'));
  try {
    deps.progress(`fetching ${NPM}`);
    const packed = await run('npm', ['pack', '--silent', '--pack-destination', context, NPM], { cwd: context });
    await run('mv', [join(context, packed.trim().split('\n').at(-1) ?? ''), join(context, 'npm.tgz')]);
    await copyFile(process.execPath, join(context, 'node'));
    await copyFile(HOST_AUTHORITIES, join(context, 'host-ca.crt'));
    await build(context);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

async function toolsRoot(deps: BuildDeps): Promise<string> {
  return buildOnce(deps, `image-tools-${recipeHash(SUITE, TOOLS, RECIPE)}`, async (directory) => {
    await unpackPackages(deps, directory, TOOLS);
    await furnish(directory);
    await mkdir(join(directory, 'tmp'), { recursive: true, mode: 0o1777 });
  });
}

async function toolsImage(deps: BuildDeps): Promise<string> {
  const root = await toolsRoot(deps);
  return importOnce(deps, 'tools', [root], (name) => importDirectory(root, name));
}

/** The server root alone has no shell. Its files and the tools are laid together as links, which costs no second copy. */
async function serversImage(deps: BuildDeps): Promise<string> {
  const [servers, tools] = [await serverRoot(deps), await toolsRoot(deps)];
  return importOnce(deps, 'servers', [servers, tools], async (name) => {
    const joined = await mkdtemp(join(deps.cache, 'image-servers-'));
    try {
      await run('cp', ['--archive', '--link', `${servers}/.`, joined]);
      await run('cp', ['--archive', '--link', '--force', join(tools, 'usr'), join(tools, 'tmp'), joined]);
      await importDirectory(joined, name);
    } finally {
      await rm(joined, { recursive: true, force: true });
    }
  });
}

/** @returns the image's name */
async function importOnce(deps: BuildDeps, part: string, from: readonly string[], make: (name: string) => Promise<void>): Promise<string> {
  const name = `im-appliance-stand-in/${part}:${recipeHash(from, RECIPE)}`;
  if ((await run('docker', ['image', 'ls', '--quiet', name])) !== '') return name;
  deps.progress(`importing the ${part} base`);
  await make(name);
  return name;
}

async function importDirectory(directory: string, name: string): Promise<void> {
  const label = `LABEL ${STAND_IN_LABEL}=base`;
  const script = 'set -o pipefail; tar --create --exclude=./skeleton --directory="$1" . | docker import --change "$2" - "$3"';
  await run('bash', ['-c', script, 'bash', directory, label, name]);
}
