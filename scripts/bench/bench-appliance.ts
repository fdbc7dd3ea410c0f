import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Appliance } from '#client/appliance.ts';
import type { Credentials } from '#client/client-api.ts';
import { run } from '#scripts/servers/command.ts';
import { askStatus, askTo } from '#scripts/servers/control.ts';
import { homePaths } from '#scripts/servers/home.ts';
import { freePorts } from '#scripts/servers/ports.ts';
import type { ApplianceStatus } from '#scripts/servers/supervisor.ts';

/** How messages of a tenant are written instead of the product's way. */
export interface WriterSetting {
  readonly tenant: string;
  readonly lanes: number;
  readonly batch_messages: number;
}

export interface BenchSettings {
  /** Beside the default one. */
  readonly tenants: readonly string[];
  readonly writers: readonly WriterSetting[];
}

export interface StartFigures {
  readonly seconds: number;
  /** What `up` printed about its steps. */
  readonly steps: readonly string[];
}

/** The clone, and what to call with each line of a command that takes long. */
export interface BenchDeps {
  readonly root: string;
  readonly progress: (line: string) => void;
}

const HEALTHY_MS = 120_000;
const STOPPED_MS = 90_000;
const HOPELESS_RESTARTS = 3;

/** The bench's settings file. Everything that it does not name has the shipped value. */
export function settingsText(port: number, tenants: readonly string[]): string {
  return [
    '# Written by the bench. Limits that bound one device are as high as they go; everything else is as shipped.',
    `port: ${port}`,
    'auth:',
    '  access_ttl: 12h',
    'rate_limit:',
    ...RATE_LIMITS.map((name) => `  ${name}: 100000`),
    'tenants:',
    ...['default', ...tenants].map((code) => `  - code: ${code}`),
    '',
  ].join('\n');
}

const RATE_LIMITS = [
  'message_per_second',
  'auth_per_second',
  'sync_inbox_per_minute',
  'sync_messages_per_minute',
  'history_per_minute',
] as const;

/** An appliance that exists for one measurement. */
export class BenchAppliance {
  readonly home: string;
  readonly port: number;
  readonly settings: string;
  readonly #deps: BenchDeps;

  private constructor(deps: BenchDeps, home: string, port: number, settings: string) {
    this.#deps = deps;
    this.home = home;
    this.port = port;
    this.settings = settings;
  }

  /** Makes the home and its settings file; nothing runs yet. @throws {Error} when something is there already */
  static async prepare(deps: BenchDeps, home: string, { tenants }: Pick<BenchSettings, 'tenants'>): Promise<BenchAppliance> {
    await mkdir(home, { recursive: true, mode: 0o700 });
    if ((await readdir(home)).length > 0) throw new Error(`${home} is not empty; the bench would remove it`);
    const [port = 0] = await freePorts(1);
    const settings = settingsText(port, tenants);
    await writeFile(join(home, 'appliance.yml'), settings);
    return new BenchAppliance(deps, home, port, settings);
  }

  /** In the process runtime, whose processes can be measured and whose rendered files can be changed. */
  async up(): Promise<StartFigures> {
    const began = performance.now();
    const output = await this.#command('up', '--runtime', 'process');
    return {
      seconds: Math.round((performance.now() - began) / 10) / 100,
      steps: output.split('\n').filter((line) => /^\S.* +[\d.]+ s$/.test(line)),
    };
  }

  /** Tells im-core how to write the messages of some tenants, which no settings file can, and starts the services anew. */
  async setWriters(writers: BenchSettings['writers']): Promise<void> {
    const file = join(homePaths(this.home).rendered, 'im-core.json');
    const content = JSON.parse(await readFile(file, 'utf8')) as { message: object };
    await writeFile(file, JSON.stringify({ ...content, message: { ...content.message, writers } }));
    const { control } = homePaths(this.home);
    await askTo(control, 'apply');
    await until('the services are healthy with other writers', HEALTHY_MS, async () => this.#isHealthy());
  }

  /** @returns what `smoke --json` printed */
  async smoke(): Promise<{ readonly steps: readonly { readonly name: string; readonly ms: number }[] }> {
    return JSON.parse(await this.#command('smoke', '--json')) as { steps: { name: string; ms: number }[] };
  }

  async status(): Promise<ApplianceStatus> {
    const status = await askStatus(homePaths(this.home).control);
    if (status === undefined) throw new Error("the bench's appliance does not run any more");
    return status;
  }

  async client(): Promise<Appliance> {
    const ca = await readFile(join(this.home, 'state/ca.pem'), 'utf8');
    const names = { apiName: 'api.localhost', imName: 'im.localhost', adminName: 'admin.localhost' };
    return new Appliance({ connect: `127.0.0.1:${this.port}`, ca, ...names });
  }

  async admin(): Promise<Credentials> {
    return { name: 'admin', password: (await readFile(join(this.home, 'state/admin/first_password'), 'utf8')).trim() };
  }

  /** Stops what runs and removes everything. Idempotent. */
  async remove(): Promise<void> {
    const { control } = homePaths(this.home);
    if (await askTo(control, 'stop')) {
      await until('the appliance has stopped', STOPPED_MS, async () => (await askStatus(control)) === undefined);
    }
    await rm(this.home, { recursive: true, force: true });
  }

  /** @throws {Error} that names the part which cannot start, with its last lines: the home is removed, so nobody could look there */
  async #isHealthy(): Promise<boolean> {
    const { isHealthy, parts } = await this.status();
    const hopeless = parts.find(({ restarts }) => restarts >= HOPELESS_RESTARTS);
    if (hopeless !== undefined) throw new Error(`${hopeless.name} does not start: ${hopeless.problem ?? 'it says nothing'}`);
    return isHealthy;
  }

  #command(...words: readonly string[]): Promise<string> {
    const { root, progress } = this.#deps;
    const at = ['--home', this.home, '--file', join(this.home, 'appliance.yml')];
    return run(join(root, 'scripts/appliance'), [...words, ...at], { cwd: root, onLine: progress });
  }
}

async function until(what: string, deadlineMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`${what}: not within ${deadlineMs / 1_000} s`);
    await pause(100);
  }
}
