/**
 * Turns appliance.yml into what every part reads, and makes the secrets and certificates that are missing.
 *
 * Usage: node scripts/configure/configure.ts --file appliance.yml --home DIR --runtime process
 * Exit: 0 done; 2 the file or the arguments are refused, nothing was touched; 3 the machine does not allow it; 1 anything else.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from '../servers/ports.ts';
import { ensureCertificates } from './ensure-certificates.ts';
import type { Role } from './ensure-certificates.ts';
import { processLayout } from './layout.ts';
import type { Layout, Ports, Runtime } from './layout.ts';
import { ConfigProblems, PreflightError } from './problems.ts';
import { renderTree } from './render-tree.ts';
import { writeRendered } from './rendered.ts';
import type { Settings } from './schema.ts';
import { ensureSecrets } from './secrets.ts';
import { readSettings } from './settings.ts';
import { readIfThere, writePrivate } from './state.ts';

export { ConfigProblems, PreflightError } from './problems.ts';
export type { Settings } from './schema.ts';
export type { Runtime } from './layout.ts';

export interface ConfigureOptions {
  /** The operator's appliance.yml. */
  readonly file: string;
  readonly home: string;
  readonly runtime: Runtime;
  readonly progress: (line: string) => void;
  /** Default the machine's time. */
  readonly now?: Date;
}

export interface Configured {
  /** Name of the directory below HOME/rendered. */
  readonly hash: string;
  readonly settings: Settings;
  readonly warnings: readonly string[];
  /** Names whose certificate is new since the last run; who serves them must read it anew. */
  readonly renewed: readonly Role[];
  /** False when nothing in HOME/rendered had to be written. */
  readonly isChanged: boolean;
}

/**
 * Idempotent: the same file gives the same bytes, and what is there is not written again.
 *
 * @throws {ConfigProblems} the file is refused; nothing was touched
 * @throws {PreflightError} the home cannot be used; nothing was touched
 */
export async function configureAppliance({ file, home, runtime, progress, now = new Date() }: ConfigureOptions): Promise<Configured> {
  const { settings, hash, warnings } = await readSettings({ now }, file);
  if (runtime !== 'process') throw new PreflightError('the compose runtime is not yet supported');
  processLayout({ home, ports: { kafka: 0, kafka_controller: 0 }, publicPort: settings.port, isIpv6: true }); // The paths must fit before anything is made.
  const state = join(home, 'state');
  await mkdir(state, { recursive: true, mode: 0o700 });
  const secrets = await ensureSecrets(state, settings);
  const certificates = await ensureCertificates(state, settings, now);
  if (certificates.renewed.length > 0) progress(`certificates made: ${certificates.renewed.join(', ')}`);
  const layout = await layoutOf(home, state, settings);
  const tree = await renderTree({ settings, layout, secrets, certificates }, hash);
  const isChanged = await writeRendered(join(home, 'rendered'), hash, tree);
  progress(isChanged ? `configuration ${hash} rendered` : `configuration ${hash} unchanged`);
  return { hash, settings, warnings, renewed: certificates.renewed, isChanged };
}

async function layoutOf(home: string, state: string, settings: Settings): Promise<Layout> {
  return processLayout({ home, ports: await ensurePorts(state), publicPort: settings.port, isIpv6: await hasIpv6() });
}

/** Chosen once: the data of Kafka name its address. */
async function ensurePorts(state: string): Promise<Ports> {
  const file = join(state, 'ports.json');
  const present = await readIfThere(file);
  if (present !== undefined) return JSON.parse(present) as Ports;
  const [kafka = 0, kafka_controller = 0] = await freePorts(2);
  const ports = { kafka, kafka_controller };
  await writePrivate(file, `${JSON.stringify(ports)}\n`);
  return ports;
}

/** Where the kernel has no IPv6, an address of it cannot be listened on. */
async function hasIpv6(): Promise<boolean> {
  return (await readFile('/proc/net/if_inet6', 'utf8').catch(() => '')) !== '';
}

async function program(): Promise<number> {
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  try {
    const { values } = parseArgs({ options: { file: { type: 'string' }, home: { type: 'string' }, runtime: { type: 'string' } } });
    const { file, home, runtime } = values;
    if (file === undefined || home === undefined || (runtime !== 'process' && runtime !== 'compose')) {
      process.stderr.write('usage: configure.ts --file appliance.yml --home DIR --runtime process|compose\n');
      return 2;
    }
    const { warnings } = await configureAppliance({ file: resolve(file), home: resolve(home), runtime, progress: write });
    for (const warning of warnings) write(`warning: ${warning}`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (error instanceof ConfigProblems || isArgumentError(error)) return 2;
    return error instanceof PreflightError ? 3 : 1;
  }
}

function isArgumentError(error: unknown): boolean {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

if (import.meta.main) process.exitCode = await program();
