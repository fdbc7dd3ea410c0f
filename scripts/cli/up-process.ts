/** `up` in the process runtime: the server root, the supervisor, and what it still waits for. */
import { spawn } from 'node:child_process';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { configureAppliance } from '#scripts/configure/configure.ts';
import type { Configured } from '#scripts/configure/configure.ts';
import type { ReadSettings } from '#scripts/configure/settings.ts';
import { CACHE } from '#scripts/servers/build-once.ts';
import { askStatus, askTo } from '#scripts/servers/control.ts';
import { homePaths, makeHome, readText } from '#scripts/servers/home.ts';
import { kafkaJars } from '#scripts/servers/kafka-jars.ts';
import { tryLock } from '#scripts/servers/lock.ts';
import { serverRoot } from '#scripts/servers/root.ts';
import type { ApplianceStatus } from '#scripts/servers/supervisor.ts';
import { checkPort } from './check-port.ts';
import type { Context } from './command.ts';
import { CommandError } from './command.ts';
import { refuse } from './refuse.ts';
import type { Steps } from './steps.ts';

/** From nothing but the packages to healthy; a first start on a slow disk has been seen at a third of it. */
const HEALTHY_DEADLINE_MS = 240_000;
/** A part that failed this often in a row will not come by waiting. */
const HOPELESS_RESTARTS = 4;

/** @returns false when it ran already and nothing was changed */
export async function upProcess(steps: Steps, context: Context, { settings }: ReadSettings): Promise<boolean> {
  if (process.getuid?.() !== 0)
    throw new CommandError(3, 'the process runtime must be started by root: it opens port 443 and gives each server its own user');
  const { home } = context;
  const paths = homePaths(home);
  const before = await askStatus(paths.control);
  if (before === undefined) await checkPort(settings.port, (await readText(paths.pid)) !== undefined);
  await makeHome(home);
  const lock = await tryLock(join(paths.run, 'up.lock'));
  if (lock === undefined) throw new CommandError(3, `another start of ${home} is under way`);
  try {
    const configured = await prepare(steps, context);
    if ((await readText(paths.runtime)) === undefined) await writeFile(paths.runtime, 'process\n');
    return await bringUp(steps, context, configured, before);
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
