/** The images that compose.yaml and the product's Dockerfile name: present, else pulled, else a stand-in; the product's own is built. */
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { BuildDeps } from '../servers/build-once.ts';
import { run } from '../servers/command.ts';
import { readCompose } from './compose-file.ts';
import { buildStandIn, STAND_IN_LABEL, standInFor, standInRecipe } from './stand-ins.ts';

const DOCKERFILE = 'scripts/images/product.Dockerfile';
/** Label of the product's image: the hash of the files it was built from. */
const SOURCE_LABEL = 'im-appliance.source';
const SOURCES = ['.dockerignore', '.npmrc', 'package.json', 'package-lock.json', 'appliance.yml', 'nginx', 'sql', 'scripts', 'services'];
/** A registry that is not there answers at once; one that hangs is as good as none. */
const PULL_DEADLINE_S = 900;

export interface NeededImages {
  /** What compose.yaml names but does not build. */
  readonly servers: readonly string[];
  /** What the product's image begins with. */
  readonly base: string;
  readonly product: string;
}

/** @param root the clone */
export async function neededImages(root: string): Promise<NeededImages> {
  const { services } = await readCompose(root);
  const all = Object.values(services);
  const product = all.find(({ build }) => build !== undefined)?.image;
  const base = /^FROM (\S+)$/m.exec(await readFile(join(root, DOCKERFILE), 'utf8'))?.[1];
  if (product === undefined || base === undefined) throw new Error('compose.yaml builds no image of ours');
  return { servers: [...new Set(all.map(({ image }) => image))].filter((image) => image !== product), base, product };
}

/** Whether the appliance could start without a registry and without building a stand-in. */
export async function areImagesThere(root: string): Promise<boolean> {
  const { servers, base, product } = await neededImages(root);
  const isThere = async (image: string): Promise<boolean> => (await labelsOf(image)) !== undefined;
  if (!(await Promise.all(servers.map(isThere))).every(Boolean)) return false;
  return (await isThere(product)) || isThere(base);
}

/** Whether a registry gives us what is missing; it is kept. */
export async function canPull(root: string): Promise<boolean> {
  for (const image of (await neededImages(root)).servers) {
    if ((await labelsOf(image)) === undefined) return pull(image);
  }
  return true;
}

/** How an image came to be here. */
export type Origin = 'present' | 'pulled' | 'stand-in';

/** Makes sure that an image of this official name is here. A stand-in made from something older is made anew. */
export async function ensureImage(deps: BuildDeps, image: string): Promise<Origin> {
  const standIn = standInFor(image);
  const labels = await labelsOf(image);
  const madeFrom = labels?.[STAND_IN_LABEL];
  if (labels !== undefined && (madeFrom === undefined || (standIn !== undefined && madeFrom === (await standInRecipe(standIn))))) {
    return 'present';
  }
  deps.progress(`pulling ${image}`);
  if (await pull(image)) return 'pulled';
  if (standIn === undefined) throw new Error(`${image} can neither be pulled nor be stood in for`);
  deps.progress(`no registry has it: building a stand-in for ${image}`);
  await buildStandIn(deps, standIn, image);
  return 'stand-in';
}

/** Builds the product's image unless it was built from these very files. @returns whether it was built */
export async function ensureProduct({ progress }: BuildDeps, root: string): Promise<boolean> {
  const { product } = await neededImages(root);
  const source = await sourceHash(root);
  if ((await labelsOf(product))?.[SOURCE_LABEL] === source) return false;
  const file = join(root, DOCKERFILE);
  await run('docker', ['build', '--tag', product, '--label', `${SOURCE_LABEL}=${source}`, '--file', file, root], { onLine: progress });
  return true;
}

async function labelsOf(image: string): Promise<Readonly<Record<string, string>> | undefined> {
  const text = await run('docker', ['image', 'inspect', '--format', '{{json .Config.Labels}}', image]).catch(() => undefined);
  return text === undefined ? undefined : ((JSON.parse(text) as Readonly<Record<string, string>> | null) ?? {});
}

async function pull(image: string): Promise<boolean> {
  return run('timeout', [String(PULL_DEADLINE_S), 'docker', 'pull', '--quiet', image]).then(
    () => true,
    () => false,
  );
}

/** Of every file that goes into the image, tests left out as .dockerignore does. */
async function sourceHash(root: string): Promise<string> {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    for (const file of await filesBelow(join(root, source))) {
      hash.update(`${relative(root, file)}\n`).update(await readFile(file));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

async function filesBelow(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return [path];
  return entries
    .filter((entry) => entry.isFile() && !/\.(?:test|fixture)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
