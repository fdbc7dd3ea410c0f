/**
 * compose.yaml, and copies of it for appliances whose home is not the clone's own: same containers, other places, other networks.
 * So compose.yaml itself needs no variable but the port.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readIfThere, writeWhole } from '../configure/state.ts';
import { run } from '../servers/command.ts';
import type { ComposeCommand } from './compose-plugin.ts';

/** What we read of a compose file. */
export interface ComposeFile {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
}

export interface ComposeService {
  readonly image: string;
  readonly build?: unknown;
  readonly user?: string;
  /** `always`, or `no` for what ends by itself. */
  readonly restart?: string;
  readonly networks?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly (string | { readonly source: string; readonly target: string; readonly read_only?: boolean })[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly profiles?: readonly string[];
  readonly mem_limit?: string;
  readonly [key: string]: unknown;
}

const NAME = 'im-appliance';
/** The first three numbers of the addresses in compose.yaml. */
const NETWORK = '10.213.7';
/** Third numbers of the copies' networks. */
const FIRST_NETWORK = 8;
const LAST_NETWORK = 255;

/** @param root the clone */
export async function readCompose(root: string): Promise<ComposeFile> {
  return parseCompose(await readFile(join(root, 'compose.yaml'), 'utf8'));
}

export function parseCompose(text: string): ComposeFile {
  return parse(text, { merge: true }) as ComposeFile;
}

export interface Place {
  /** The clone. */
  readonly root: string;
  readonly home: string;
  /** The settings file. */
  readonly file: string;
}

/** One appliance of compose: what its containers are called and which file describes them. */
export interface Project {
  readonly name: string;
  readonly file: string;
}

/** The project of a home; says nothing about whether it was ever started. */
export function projectOf({ root, home, file }: Place): Project {
  if (home === join(root, '.appliance') && file === join(root, 'appliance.yml')) return { name: NAME, file: join(root, 'compose.yaml') };
  const name = `${NAME}-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`;
  return { name, file: join(home, 'compose.yaml') };
}

/** Writes the project's own compose file where it needs one. Its network is chosen once, among those the machine does not use. */
export async function ensureComposeFile(place: Place): Promise<Project> {
  const project = projectOf(place);
  if (project.name === NAME) return project;
  const present = await readIfThere(project.file);
  const network = networkIn(present ?? '') ?? (await freeNetwork());
  const text = composeFor(await readFile(join(place.root, 'compose.yaml'), 'utf8'), { ...place, name: project.name, network });
  if (text !== present) {
    await mkdir(place.home, { recursive: true, mode: 0o700 });
    await writeWhole(project.file, text, 0o600);
  }
  return project;
}

/** The text of compose.yaml for another place. */
export function composeFor(
  text: string,
  { root, home, file, name, network }: Place & { readonly name: string; readonly network: string },
): string {
  const moved = text
    .replace(`name: ${NAME}\n`, `name: ${name}\n`)
    .replaceAll(`${NETWORK}.`, `${network}.`)
    .replaceAll('./.appliance', home)
    .replaceAll('source: ./appliance.yml', `source: ${file}`)
    .replaceAll('./scripts/', `${root}/scripts/`)
    .replaceAll('context: .,', `context: ${root},`);
  return `# generated from ${join(root, 'compose.yaml')}; edits are lost\n${moved}`;
}

function networkIn(text: string): string | undefined {
  return /subnet: (\d+\.\d+\.\d+)\./.exec(text)?.[1];
}

async function freeNetwork(): Promise<string> {
  const used = new Set((await usedNetworks()).map(({ network }) => network));
  for (let third = FIRST_NETWORK; third <= LAST_NETWORK; third += 1) {
    const network = `10.213.${third}`;
    if (!used.has(network)) return network;
  }
  throw new Error('no network between 10.213.8.0 and 10.213.255.0 is free');
}

export interface UsedNetwork {
  /** Its first three numbers. */
  readonly network: string;
  readonly interface: string;
}

/** What the machine has a route to below 10.213. */
export async function usedNetworks(): Promise<readonly UsedNetwork[]> {
  return routesBelow(await readFile('/proc/net/route', 'utf8'));
}

/** From the text of /proc/net/route, which writes addresses in the machine's own order of bytes. */
export function routesBelow(table: string): readonly UsedNetwork[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [name = '', destination = ''] = line.split(/\s+/);
      const [a, b, c] = [...destination.matchAll(/../g)].map(([byte]) => parseInt(byte, 16)).reverse();
      return a === 10 && b === 213 && c !== undefined ? [{ network: `10.213.${c}`, interface: name }] : [];
    });
}

/** One command of Compose for a project, such as `['up', '--detach']`. @returns what it wrote to standard output */
export async function compose(
  command: ComposeCommand,
  { name, file }: Project,
  words: readonly string[],
  { port, onLine }: { readonly port?: number; readonly onLine?: (line: string) => void } = {},
): Promise<string> {
  const line = [...command, '--project-name', name, '--file', file, ...words];
  const variables = port === undefined ? [] : [`APPLIANCE_PORT=${port}`];
  return run('env', [...variables, ...line], onLine === undefined ? {} : { onLine });
}
