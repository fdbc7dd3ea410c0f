import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { isData, listOf } from '#client/answer.ts';
import { Appliance } from '#client/appliance.ts';
import type { Credentials } from '#client/client-api.ts';
import { applianceAddress } from '#scripts/cli/appliance-address.ts';
import { e2eSettings, e2eTarget } from '#shared/testing/e2e-target.ts';
import type { E2eTarget } from '#shared/testing/e2e-target.ts';
import { eventually } from '#shared/testing/wait.ts';

const ROOT = resolve(import.meta.dirname, '..');
const START_MS = 900_000;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Place extends E2eTarget {
  readonly isOwn: boolean;
  readonly isStartedHere: boolean;
}

/** The appliance under test, as somebody sees it who has its public port and its directory. */
export class ApplianceUnderTest {
  readonly appliance: Appliance;
  readonly home: string;
  readonly file: string;
  readonly connect: string;
  readonly apiName: string;
  /** True when it was started for these tests: only then may one kill a part of it. */
  readonly isOwn: boolean;
  /** Addresses to connect from, to be told from everybody else. */
  readonly clients: readonly [string, string];
  readonly #admin: string;
  readonly #isStartedHere: boolean;

  private constructor(appliance: Appliance, place: Place & { apiName: string; admin: string }) {
    this.appliance = appliance;
    this.home = place.home;
    this.file = place.file;
    this.connect = place.connect;
    this.apiName = place.apiName;
    this.isOwn = place.isOwn;
    this.clients = place.clients ?? ['127.0.0.7', '127.0.0.8'];
    this.#isStartedHere = place.isStartedHere;
    this.#admin = place.admin;
  }

  /** The one that the runner names, else a new one: own directory, own free port, limits that tests do not reach, every log line; else as shipped. */
  static async open(): Promise<ApplianceUnderTest> {
    const target = e2eTarget();
    if (target !== undefined) return ApplianceUnderTest.#at({ ...target, isOwn: target.isOwn ?? false, isStartedHere: false });
    const home = await mkdtemp('/tmp/ima-e2e-');
    const file = join(home, 'appliance.yml');
    const port = await freePort();
    await writeFile(file, e2eSettings(port));
    const place = { home, file, connect: `127.0.0.1:${port}`, isOwn: true, isStartedHere: true };
    const started = await command(['up', '--runtime', 'process', '--home', home, '--file', file], START_MS);
    if (started.code !== 0) throw new Error(`the appliance did not start (exit ${started.code}):\n${started.stdout}\n${started.stderr}`);
    return ApplianceUnderTest.#at(place);
  }

  static async #at(place: Place): Promise<ApplianceUnderTest> {
    const values = new Map([['connect', place.connect]]);
    const found = await applianceAddress({ root: ROOT, ...place }, { flags: new Set(), values, positionals: [], rest: [] });
    return new ApplianceUnderTest(new Appliance(found), { ...place, apiName: found.apiName, admin: found.settings.admin.first_admin.name });
  }

  async close(): Promise<void> {
    this.appliance.close();
    if (!this.#isStartedHere) return;
    const stopped = await command(['down', ...this.#place()], 120_000);
    if (stopped.code !== 0) throw new Error(`the appliance did not stop (exit ${stopped.code}):\n${stopped.stderr}`);
    await rm(this.home, { recursive: true, force: true });
  }

  /** `scripts/appliance WORDS ...` for this appliance. */
  run(words: readonly string[]): Promise<CommandResult> {
    return command([...words, ...this.#place()], 120_000);
  }

  async admin(): Promise<Credentials> {
    const password = (await readFile(join(this.home, 'state/admin/first_password'), 'utf8')).trimEnd();
    return { name: this.#admin, password };
  }

  /** Kills a part as a power cut would, or asks it to end with SIGTERM, and waits until it has come back by itself. */
  async kill(part: string, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const before = await this.#pidOf(part);
    process.kill(before, signal);
    const isBack = async (): Promise<boolean> => {
      const { pid, state } = await this.#partOf(part);
      return pid !== before && state === 'ready';
    };
    await eventually(isBack, { what: `${part} to be back`, deadlineMs: 60_000 });
  }

  /** Lines of a part's log, parsed; what is no JSON is left out. */
  async logOf(part: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { stdout } = await this.run(['logs', part, '--lines', '100000']);
    return stdout.split('\n').flatMap((line) => {
      const start = line.indexOf('{');
      const value = start === -1 ? undefined : parsed(line.slice(start));
      return isData(value) ? [value] : [];
    });
  }

  async #pidOf(part: string): Promise<number> {
    const { pid } = await this.#partOf(part);
    if (typeof pid !== 'number') throw new Error(`${part} does not run`);
    return pid;
  }

  async #partOf(name: string): Promise<Readonly<Record<string, unknown>>> {
    const { stdout } = await this.run(['status', '--json']);
    const status = parsed(stdout);
    const part = isData(status) ? listOf(status, 'parts').find((candidate) => candidate['name'] === name) : undefined;
    if (part === undefined) throw new Error(`status does not know ${name}`);
    return part;
  }

  #place(): readonly string[] {
    return ['--home', this.home, '--file', this.file];
  }
}

function command(words: readonly string[], timeoutMs: number): Promise<CommandResult> {
  const { promise, resolve: done } = Promise.withResolvers<CommandResult>();
  const child = execFile(
    join(ROOT, 'scripts/appliance'),
    [...words],
    { timeout: timeoutMs, maxBuffer: 16 * 1024 * 1024 },
    (_error, stdout, stderr) => {
      done({ code: child.exitCode ?? -1, stdout, stderr });
    },
  );
  child.stdin?.end();
  return promise;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
