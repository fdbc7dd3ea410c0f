/** `up` in the compose runtime: images, containers, and new starts for what reads something that changed since. */
import { createHash } from 'node:crypto';
import { lstat, readFile, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReadSettings } from '#scripts/configure/settings.ts';
import { compose, ensureComposeFile, usedNetworks } from '#scripts/images/compose-file.ts';
import { containersOf, statusOf } from '#scripts/images/compose-status.ts';
import type { Container } from '#scripts/images/compose-status.ts';
import { ensureImage, ensureProduct, neededImages } from '#scripts/images/images.ts';
import { CACHE } from '#scripts/servers/build-once.ts';
import { run } from '#scripts/servers/command.ts';
import { homePaths } from '#scripts/servers/home.ts';
import { SERVICES } from '#scripts/servers/plan.ts';
import { checkPort } from './check-port.ts';
import type { Context } from './command.ts';
import { CommandError } from './command.ts';
import { composeRuntime } from './runtime.ts';
import type { ComposeRuntime } from './runtime.ts';
import type { Steps } from './steps.ts';

/** For everything together, MySQL's first start included. */
const WAIT_S = 300;
/** Servers, and what each of them reads. */
const SERVER_FILES: Readonly<Record<string, string>> = { mysql: 'mysql.cnf', redis: 'redis.conf', kafka: 'kafka.properties' };

/** @returns false when it ran already and nothing was changed */
export async function upCompose(steps: Steps, context: Context, { settings }: ReadSettings): Promise<boolean> {
  const runtime = await composeRuntime(context);
  const before = await containersOf(runtime.project);
  const isUp = before.get('nginx')?.State.Status === 'running';
  if (!isUp) await checkPort(settings.port, false);
  await ensureComposeFile(context);
  if (before.size === 0) await checkNetwork(runtime);
  await bringImages(steps, context);
  const settled = await fingerprints(context.home);
  await steps.step('containers', (progress) => start(runtime, settings.port, [], progress));
  const stale = await staleParts(context.home, await containersOf(runtime.project), settled);
  if (stale.length > 0) {
    await steps.step('apply', async (progress) => {
      await compose(runtime.command, runtime.project, ['restart', ...stale], { port: settings.port, onLine: progress });
      await start(runtime, settings.port, ['--no-deps', ...stale], progress);
    });
  }
  return !isSame(before, await containersOf(runtime.project));
}

/** One image at a time: a build takes all of a small machine. */
async function bringImages(steps: Steps, { root }: Context): Promise<void> {
  const { servers, base } = await neededImages(root);
  for (const image of [...servers, base]) {
    await steps.step(`image ${image.split(':')[0]?.split('/').at(-1) ?? ''}`, (progress) => ensureImage({ cache: CACHE, progress }, image));
  }
  await steps.step('image ours', (progress) => ensureProduct({ cache: CACHE, progress }, root));
}

/** @throws {CommandError} 2 or 3 what configure says; 4 something does not become healthy */
async function start(
  { command, project }: ComposeRuntime,
  port: number,
  words: readonly string[],
  progress: (line: string) => void,
): Promise<void> {
  const line = ['up', '--detach', '--wait', '--wait-timeout', String(WAIT_S), ...words];
  try {
    await compose(command, project, line, { port, onLine: (text) => progress(text.trim()) });
  } catch (error) {
    const containers = await containersOf(project);
    const configure = containers.get('configure');
    const code = configure?.State.ExitCode ?? 0;
    if (configure !== undefined && code !== 0) throw new CommandError(code === 2 || code === 3 ? code : 1, await lastWords(configure));
    const { parts, problem } = statusOf(containers);
    const troubled = parts
      .filter(({ state }) => state !== 'ready')
      .map(({ name, state, problem: why }) => `${name}: ${state}${why === undefined ? '' : `, ${why}`}`);
    const reason =
      troubled.length > 0 || problem !== undefined ? [...troubled, ...(problem === undefined ? [] : [problem])] : [String(error)];
    throw new CommandError(4, ['not healthy:', ...reason, 'see scripts/appliance logs'].join('\n'));
  }
}

async function lastWords({ Id }: Container): Promise<string> {
  return (await run('sh', ['-c', 'exec docker logs --tail 20 "$1" 2>&1', 'sh', Id])).trim();
}

/** A network of ours that lies over another one would cut the machine off from it. @throws {CommandError} 3 */
async function checkNetwork({ project }: ComposeRuntime): Promise<void> {
  const wanted = /subnet: (\d+\.\d+\.\d+)\./.exec(await readFile(project.file, 'utf8'))?.[1];
  const mine = await run('docker', ['network', 'ls', '--quiet', '--filter', `label=com.docker.compose.project=${project.name}`]);
  const other = mine === '' ? (await usedNetworks()).find(({ network }) => network === wanted) : undefined;
  if (other === undefined) return;
  throw new CommandError(
    3,
    `the network ${other.network}.0/24 of compose.yaml is in use on ${other.interface}: write another one there, in all its places`,
  );
}

/** What each server reads now, without the line that names the configuration. */
async function fingerprints(home: string): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    Object.entries(SERVER_FILES).map(async ([part, file]): Promise<[string, string]> => {
      const text = await readFile(join(homePaths(home).rendered, file), 'utf8').catch(() => '');
      return [
        part,
        createHash('sha256')
          .update(text.slice(text.indexOf('\n')))
          .digest('hex'),
      ];
    }),
  );
  return new Map(found);
}

/**
 * Parts that run with something older than what is there now. Compose itself does not see that a file behind a mount changed.
 * A service and nginx read the whole configuration; a server is left alone when its own file says the same as before.
 */
async function staleParts(
  home: string,
  containers: ReadonlyMap<string, Container>,
  before: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const link = (await lstat(homePaths(home).rendered)).mtimeMs;
  const after = await fingerprints(home);
  const stale: string[] = [];
  for (const name of [...Object.keys(SERVER_FILES), ...SERVICES, 'nginx']) {
    const container = containers.get(name);
    if (container === undefined) continue;
    const started = Date.parse(container.State.StartedAt);
    const isServer = name in SERVER_FILES;
    const isOutdated = isServer ? started < link && before.get(name) !== after.get(name) : started < link;
    if (isOutdated || started < (await newestBelow(join(homePaths(home).state, 'for', name)))) stale.push(name);
  }
  return stale;
}

/** Time of the last change of a secret or certificate. */
async function newestBelow(directory: string): Promise<number> {
  const folder = await realpath(directory).catch(() => undefined);
  if (folder === undefined) return 0;
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const times = await Promise.all(files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).mtimeMs));
  return Math.max(0, ...times);
}

function isSame(before: ReadonlyMap<string, Container>, after: ReadonlyMap<string, Container>): boolean {
  const marks = (containers: ReadonlyMap<string, Container>): string =>
    [...containers]
      .filter(([, { State }]) => State.Status === 'running')
      .map(([name, { Id, State }]) => `${name} ${Id} ${State.StartedAt}`)
      .sort()
      .join('\n');
  return marks(before) === marks(after);
}
