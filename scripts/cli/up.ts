import { spawn } from 'node:child_process';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ConfigProblems, PreflightError, configureAppliance } from '#scripts/configure/configure.ts';
import type { Configured } from '#scripts/configure/configure.ts';
import { readSettings } from '#scripts/configure/settings.ts';
import { CACHE } from '#scripts/servers/build-once.ts';
import { askStatus, askTo } from '#scripts/servers/control.ts';
import { homePaths, makeHome, readText } from '#scripts/servers/home.ts';
import { kafkaJars } from '#scripts/servers/kafka-jars.ts';
import { tryLock } from '#scripts/servers/lock.ts';
import { isPortTaken, portHolder } from '#scripts/servers/port-holder.ts';
import { serverRoot } from '#scripts/servers/root.ts';
import type { ApplianceStatus } from '#scripts/servers/supervisor.ts';
import type { Arguments, Command, Context, ExitCode } from './command.ts';
import { CommandError } from './command.ts';
import { Steps } from './steps.ts';

/** From nothing but the packages to healthy; a first start on a slow disk has been seen at a third of it. */
const HEALTHY_DEADLINE_MS = 240_000;
/** A part that failed this often in a row will not come by waiting. */
const HOPELESS_RESTARTS = 4;
const LEFTOVER_MS = 5_000;

export const command: Command = {
  summary: 'start the appliance and wait until it is healthy; changed settings are applied, otherwise a second run changes nothing',
  usage: '[--file FILE] [--home DIR] [--runtime process|compose]',
  options: {
    runtime: { kind: 'value', placeholder: 'NAME', summary: 'process or compose; chosen at the first start and kept' },
  },
  run: up,
};

async function up(context: Context, args: Arguments): Promise<ExitCode> {
  const steps = new Steps();
  const { file, home } = context;
  const { settings } = await readSettings({ now: new Date() }, file).catch(refuse);
  await checkRuntime(home, args.values.get('runtime'));
  const paths = homePaths(home);
  const before = await askStatus(paths.control);
  if (before === undefined) await checkPort(settings.port, (await readText(paths.pid)) !== undefined);
  await makeHome(home);
  const lock = await tryLock(join(paths.run, 'up.lock'));
  if (lock === undefined) throw new CommandError(3, `another start of ${home} is under way`);
  try {
    const configured = await prepare(steps, context);
    if ((await readText(paths.runtime)) === undefined) await writeFile(paths.runtime, 'process\n');
    const isNew = await bringUp(steps, context, configured, before);
    for (const warning of configured.warnings) console.log(`warning: ${warning}`);
    printWelcome(context, configured, isNew ? `up after ${steps.total.trim()} s` : 'it runs already; nothing was changed');
    return 0;
  } finally {
    await lock.release();
  }
}

/** The server root, Kafka's jars and the configuration do not need each other. */
async function prepare(steps: Steps, { file, home }: Context): Promise<Configured> {
  const build = (name: string, make: (deps: { cache: string; progress: (line: string) => void }) => Promise<string>): Promise<string> =>
    steps.step(name, (progress) => make({ cache: CACHE, progress }));
  const [configured] = await Promise.all([
    steps.step('configure', (progress) => configureAppliance({ file, home, runtime: 'process', progress }).catch(refuse)),
    build('server root', serverRoot),
    build('kafka jars', kafkaJars),
  ]);
  return configured;
}

/** @returns false when the appliance ran with this very configuration */
async function bringUp(
  steps: Steps,
  { root, home }: Context,
  configured: Configured,
  before: ApplianceStatus | undefined,
): Promise<boolean> {
  const paths = homePaths(home);
  const isCurrent = before?.configHash === configured.hash && configured.renewed.length === 0;
  if (before === undefined) await startSupervisor(root, home);
  else if (!isCurrent) await steps.step('apply', () => askTo(paths.control, 'apply'));
  else if (before.isHealthy) return false;
  await steps.step('servers', (progress) => until(paths.control, progress, ({ phase }) => phase !== 'starting servers'));
  await steps.step('migrate', (progress) =>
    until(paths.control, progress, ({ phase }) => !['starting servers', 'migrating'].includes(phase)),
  );
  await steps.step('services', (progress) => until(paths.control, progress, ({ phase }) => phase === 'running'));
  await steps.step('healthy', (progress) => until(paths.control, progress, ({ isHealthy }) => isHealthy));
  return true;
}

/** Starts it in a session of its own, so that it outlives this terminal, and waits until it answers. */
async function startSupervisor(root: string, home: string): Promise<void> {
  const paths = homePaths(home);
  const log = await open(paths.log('supervisor-start'), 'w');
  const child = spawn(process.execPath, [join(root, 'scripts/servers/supervise.ts'), home], {
    cwd: root,
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C' },
  });
  let code: number | null | undefined;
  child.once('exit', (value) => (code = value));
  child.once('error', () => (code = null));
  child.unref();
  await log.close();
  const deadline = performance.now() + 15_000;
  while ((await askStatus(paths.control)) === undefined) {
    if (code !== undefined || performance.now() > deadline) {
      throw new CommandError(1, `the supervisor did not start: ${(await readText(paths.log('supervisor-start'))) ?? ''}`);
    }
    await pause(50);
  }
}

async function until(control: string, progress: (line: string) => void, isReached: (status: ApplianceStatus) => boolean): Promise<void> {
  const deadline = performance.now() + HEALTHY_DEADLINE_MS;
  for (;;) {
    const status = await askStatus(control);
    if (status === undefined) throw new CommandError(1, 'the supervisor ended; its log is logs/supervisor.log in the home');
    if (isReached(status)) return;
    const hopeless = status.parts.find(({ state, restarts }) => state === 'waiting' && restarts >= HOPELESS_RESTARTS);
    if (hopeless !== undefined || performance.now() > deadline) throw new CommandError(4, `not healthy:\n${troublesOf(status).join('\n')}`);
    progress(waitingFor(status));
    await pause(100);
  }
}

function waitingFor({ phase, parts, problem }: ApplianceStatus): string {
  const names = parts.filter(({ state }) => state !== 'ready').map(({ name, state }) => `${name} ${state}`);
  return [phase, ...names, ...(problem === undefined ? [] : [problem])].join(', ').replaceAll('\n', ' ');
}

function troublesOf({ phase, parts, problem }: ApplianceStatus): readonly string[] {
  const troubled = parts.filter(({ state }) => state !== 'ready');
  return [
    ...troubled.map((part) => `${part.name}: ${part.state}${part.problem === undefined ? '' : `, ${part.problem}`}`),
    ...(problem === undefined ? [] : [`${phase}: ${problem}`]),
    'see scripts/appliance logs; the supervisor goes on trying until scripts/appliance down',
  ];
}

/** The runtime is chosen once: each keeps its data in another place. @throws {CommandError} 3 */
async function checkRuntime(home: string, wanted: string | undefined): Promise<void> {
  if (wanted !== undefined && wanted !== 'process' && wanted !== 'compose') {
    throw new CommandError(2, `up: --runtime is process or compose, not "${wanted}"`);
  }
  const chosen = await readText(homePaths(home).runtime);
  if (chosen !== undefined && wanted !== undefined && wanted !== chosen) {
    throw new CommandError(
      3,
      `this appliance runs in the ${chosen} runtime and its data lie in ${join(home, 'data')}; move them away to begin anew`,
    );
  }
  if ((wanted ?? chosen) === 'compose') throw new CommandError(3, 'the compose runtime is not built yet; use --runtime process');
  if (process.getuid?.() !== 0)
    throw new CommandError(3, 'the process runtime must be started by root: it opens port 443 and gives each server its own user');
}

/** @throws {CommandError} 3 before anything is made */
async function checkPort(port: number, wasCutShort: boolean): Promise<void> {
  const deadline = performance.now() + LEFTOVER_MS;
  while (await isPortTaken(port)) {
    // A supervisor that was killed left its process id behind; what it had started is still ending.
    if (!wasCutShort || performance.now() > deadline) break;
    await pause(200);
  }
  if (!(await isPortTaken(port))) return;
  const holder = (await portHolder(port)) ?? 'a process that cannot be seen from here';
  throw new CommandError(3, `port ${port} is taken by ${holder}; free it or set another port in the settings file`);
}

function refuse(error: unknown): never {
  if (error instanceof ConfigProblems) throw new CommandError(2, error.message);
  if (error instanceof PreflightError) throw new CommandError(3, error.message);
  throw error;
}

function printWelcome({ home }: Context, { settings }: Configured, summary: string): void {
  const port = settings.port === 443 ? '' : `:${settings.port}`;
  const { api, im, admin } = settings.domain;
  console.log(
    [
      '',
      `IM Appliance: ${summary}`,
      `  API             https://${api}${port}/`,
      `  messages        ${im}:${settings.port} (TLS)`,
      `  administration  https://${admin}${port}/`,
      `  administrator   ${settings.admin.first_admin.name}, password in ${join(home, 'state/admin/first_password')}`,
      `  trust           ${join(home, 'state/ca.pem')} signs the certificates`,
      `  stop            scripts/appliance down${home.endsWith('/.appliance') ? '' : ` --home ${home}`}`,
    ].join('\n'),
  );
}
