/**
 * Turns appliance.yml into what every part reads, and makes the secrets and certificates that are missing.
 *
 * Usage: node scripts/configure/configure.ts --file appliance.yml --home DIR --runtime process
 *        ... --runtime compose --published-port PORT --proxy-address IP   in a container that sees the home as /appliance
 * Exit: 0 done; 2 the file or the arguments are refused, nothing was touched; 3 the machine does not allow it; 1 anything else.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from '../servers/ports.ts';
import { ensureCertificates } from './ensure-certificates.ts';
import type { Role } from './ensure-certificates.ts';
import { composeLayout, processLayout } from './layout.ts';
import type { Layout, Ports } from './layout.ts';
import { ConfigProblems, PreflightError } from './problems.ts';
import { shareState } from './readers.ts';
import { renderTree } from './render-tree.ts';
import { writeRendered } from './rendered.ts';
import type { Settings } from './schema.ts';
import { ensureSecrets } from './secrets.ts';
import { readSettings } from './settings.ts';
import { openPlace, sharedPlace } from './state-place.ts';
import { readIfThere, writePrivate } from './state.ts';

export { ConfigProblems, PreflightError } from './problems.ts';
export type { Settings } from './schema.ts';
export type { Runtime } from './layout.ts';

interface CommonOptions {
  /** The operator's appliance.yml. */
  readonly file: string;
  readonly home: string;
  readonly progress: (line: string) => void;
  /** Default the machine's time. */
  readonly now?: Date;
}

export type ConfigureOptions = CommonOptions &
  (
    | { readonly runtime: 'process' }
    | {
        readonly runtime: 'compose';
        /** The port of the machine that Compose publishes. */
        readonly publishedPort: number;
        /** The address of Nginx on the internal network. */
        readonly proxyAddress: string;
      }
  );

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
export async function configureAppliance(options: ConfigureOptions): Promise<Configured> {
  const { file, home, progress, now = new Date() } = options;
  const { settings, hash, warnings } = await readSettings({ now }, file);
  const state = join(home, 'state');
  await refuseUnusable(options, settings, state);
  await mkdir(state, { recursive: true, mode: 0o700 });
  const place = options.runtime === 'process' ? openPlace(state) : sharedPlace(state, composeLayout('').state);
  const secrets = await ensureSecrets(place, settings);
  const certificates = await ensureCertificates(place, settings, now);
  if (certificates.renewed.length > 0) progress(`certificates made: ${certificates.renewed.join(', ')}`);
  const layout = await layoutOf(options, state, settings);
  const tree = await renderTree({ settings, layout, secrets, certificates }, hash);
  if (options.runtime === 'compose') await shareState(place, tree);
  const isChanged = await writeRendered(join(home, 'rendered'), hash, tree);
  progress(isChanged ? `configuration ${hash} rendered` : `configuration ${hash} unchanged`);
  if (options.runtime === 'compose') await keepRuntime(state);
  return { hash, settings, warnings, renewed: certificates.renewed, isChanged };
}

/** Everything that can be said before anything is made. @throws {PreflightError} */
async function refuseUnusable(options: ConfigureOptions, settings: Settings, state: string): Promise<void> {
  if (options.runtime === 'process') {
    processLayout({ home: options.home, ports: { kafka: 0, kafka_controller: 0 }, publicPort: settings.port, isIpv6: true });
    return;
  }
  const chosen = (await readIfThere(join(state, 'runtime')))?.trim();
  if (chosen !== undefined && chosen !== 'compose') {
    throw new PreflightError(
      `this appliance runs in the ${chosen} runtime and its data lie in data/ of its home; move them away to begin anew`,
    );
  }
  if (options.publishedPort !== settings.port) {
    throw new PreflightError(
      `the settings say port ${settings.port}, but ${options.publishedPort} is published: start it with scripts/appliance up, or with APPLIANCE_PORT=${settings.port}`,
    );
  }
}

async function layoutOf(options: ConfigureOptions, state: string, settings: Settings): Promise<Layout> {
  if (options.runtime === 'compose') return composeLayout(options.proxyAddress);
  return processLayout({ home: options.home, ports: await ensurePorts(state), publicPort: settings.port, isIpv6: await hasIpv6() });
}

/** The data lie where the runtime keeps them, so it cannot be changed afterwards. */
async function keepRuntime(state: string): Promise<void> {
  const file = join(state, 'runtime');
  if ((await readIfThere(file)) === undefined) await writePrivate(file, 'compose\n');
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

const USAGE =
  'usage: configure.ts --file appliance.yml --home DIR --runtime process | --runtime compose --published-port PORT --proxy-address IP\n';

async function program(): Promise<number> {
  const write = (line: string): void => void process.stdout.write(`${line}\n`);
  try {
    const options = optionsOf(write);
    if (options === undefined) {
      process.stderr.write(USAGE);
      return 2;
    }
    const { warnings } = await configureAppliance(options);
    for (const warning of warnings) write(`warning: ${warning}`);
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (error instanceof ConfigProblems || isArgumentError(error)) return 2;
    return error instanceof PreflightError ? 3 : 1;
  }
}

/** @returns undefined when the line does not say enough */
function optionsOf(progress: (line: string) => void): ConfigureOptions | undefined {
  const text = { type: 'string' } as const;
  const names = { file: text, home: text, runtime: text, 'published-port': text, 'proxy-address': text };
  const { file, home, runtime, 'published-port': port, 'proxy-address': proxyAddress } = parseArgs({ options: names }).values;
  if (file === undefined || home === undefined) return undefined;
  const common = { file: resolve(file), home: resolve(home), progress };
  if (runtime === 'process') return { ...common, runtime };
  if (runtime !== 'compose' || proxyAddress === undefined || !/^\d{1,5}$/.test(port ?? '')) return undefined;
  return { ...common, runtime, publishedPort: Number(port), proxyAddress };
}

function isArgumentError(error: unknown): boolean {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

if (import.meta.main) process.exitCode = await program();
