/**
 * The stage that tests the appliance in containers: an engine where none answers, images, an appliance of its own with other names, port,
 * home and networks than any other, the end-to-end suite from a network beside, and nothing left afterwards.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compose, ensureComposeFile } from '#scripts/images/compose-file.ts';
import type { Project } from '#scripts/images/compose-file.ts';
import { ensureCompose } from '#scripts/images/compose-plugin.ts';
import type { ComposeCommand } from '#scripts/images/compose-plugin.ts';
import { ensureEngine } from '#scripts/images/engine.ts';
import { ensureImage, ensureProduct, neededImages } from '#scripts/images/images.ts';
import { installPrograms } from '#scripts/servers/apt.ts';
import { CACHE } from '#scripts/servers/build-once.ts';
import { eachLine, run } from '#scripts/servers/command.ts';
import { freePorts } from '#scripts/servers/ports.ts';
import { e2eSettings } from '#shared/testing/e2e-target.ts';
import { Steps } from './steps.ts';
import type { Selection } from './test-kinds.ts';
import { makeClientNetwork } from './test-network.ts';
import type { ClientNetwork } from './test-network.ts';
import { addFailure, noResult, plus } from './test-result.ts';
import type { StageResult } from './test-result.ts';

const SUMMARY = /^(\d+) passed, (\d+) failed, (\d+) skipped$/;
const WAIT = ['up', '--detach', '--wait', '--wait-timeout', '300'];

interface Appliance {
  readonly root: string;
  readonly command: ComposeCommand;
  readonly project: Project;
  readonly home: string;
  readonly file: string;
  readonly port: number;
}

export async function runCompose(root: string, selection: Selection): Promise<StageResult> {
  const undo: (() => Promise<unknown>)[] = [];
  const cleanUp = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step().catch((error: unknown) => console.error(error));
  };
  const listener = (): void => void cleanUp().finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, listener);
  let result = noResult();
  try {
    const appliance = await prepare(root, undo);
    result = await test(appliance, selection, undo);
  } catch (error) {
    console.error(error);
    result = addFailure(result, `compose: ${String(error)}`);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, listener);
    await cleanUp();
  }
  return result;
}

/** What must be there before anything can be tested. */
async function prepare(root: string, undo: (() => Promise<unknown>)[]): Promise<Appliance> {
  const steps = new Steps();
  const deps = (progress: (line: string) => void) => ({ cache: CACHE, progress });
  const engine = await steps.step('engine', (progress) => ensureEngine(deps(progress)));
  undo.push(() => engine.stop());
  await installPrograms(CACHE, { ip: ['iproute2'] }, () => undefined);
  const command = await steps.step('compose', (progress) => ensureCompose(deps(progress)));
  const { servers, base } = await neededImages(root);
  for (const image of [...servers, base]) {
    const origin = await steps.step(`image ${image.split(':')[0]?.split('/').at(-1) ?? ''}`, (progress) =>
      ensureImage(deps(progress), image),
    );
    if (origin !== 'present') console.log(`  ${image}: ${origin}`);
  }
  await steps.step('image ours', (progress) => ensureProduct(deps(progress), root));
  const home = await mkdtemp('/tmp/ima-compose-');
  undo.push(() => rm(home, { recursive: true, force: true }));
  const [port = 0] = await freePorts(1);
  const file = join(home, 'appliance.yml');
  await writeFile(file, e2eSettings(port));
  const project = await ensureComposeFile({ root, home, file });
  undo.push(() => run('env', [`APPLIANCE_PORT=${port}`, ...command, '--file', project.file, 'down', '--volumes', '--timeout', '5']));
  return { root, command, project, home, file, port };
}

/** The steps count as tests; the suite brings its own. */
async function test(appliance: Appliance, selection: Selection, undo: (() => Promise<unknown>)[]): Promise<StageResult> {
  const { command, project, port, root, home, file } = appliance;
  const steps = new Steps();
  let result = noResult();
  const check = async (name: string, work: () => Promise<unknown>): Promise<boolean> => {
    const failure = await steps.step(name, work).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure !== undefined) console.error(failure);
    result =
      failure === undefined
        ? plus(result, { ...noResult(), passed: 1 })
        : addFailure(result, `compose: ${name}: ${failure instanceof Error ? failure.message : ''}`);
    return failure === undefined;
  };
  if (!(await check('up (empty)', () => compose(command, project, WAIT, { port })))) {
    console.log(await compose(command, project, ['logs', '--tail', '30'], { port }).catch(String));
    return result;
  }
  await check('up (again)', () => compose(command, project, WAIT, { port }));
  const place = ['--home', home, '--file', file];
  await check('smoke', () => run(join(root, 'scripts/appliance'), ['smoke', ...place], { onLine: (line) => console.log(line) }));
  const network = await makeClientNetwork();
  undo.push(() => network.remove());
  result = plus(result, await suite(appliance, network, selection));
  await check('down -v', () => removeAll(appliance));
  return result;
}

/** Everything else runs in a process of its own, because a process is in one network. */
async function suite({ root, home, file, port }: Appliance, network: ClientNetwork, { files, grep }: Selection): Promise<StageResult> {
  const words = ['test', 'compose', '--home', home, '--file', file, '--own', '--from', network.clients.join(',')];
  const connect = ['--connect', `${network.host}:${port}`, ...(grep === undefined ? [] : ['--grep', grep])];
  const [enter = '', ...entering] = network.enter;
  const line = [...entering, join(root, 'scripts/appliance'), ...words, ...connect, '--', ...files];
  const child = spawn(enter, line, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let counted: StageResult | undefined;
  const failures: string[] = [];
  eachLine(child.stdout, (text) => {
    const [, passed, failed, skipped] = SUMMARY.exec(text) ?? [];
    if (passed !== undefined) counted = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped), failures: [] };
    else if (text.startsWith('FAILED ')) failures.push(text.slice('FAILED '.length));
    else console.log(text);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (counted === undefined) return addFailure(noResult(), `compose: the suite ended with ${String(code)} and no summary`);
  return { ...counted, failures };
}

async function removeAll({ command, project, port }: Appliance): Promise<void> {
  await compose(command, project, ['down', '--volumes'], { port });
  const filter = ['--quiet', '--filter', `label=com.docker.compose.project=${project.name}`];
  const left = await Promise.all([
    run('docker', ['ps', '--all', ...filter]),
    run('docker', ['volume', 'ls', ...filter]),
    run('docker', ['network', 'ls', ...filter]),
  ]);
  if (left.join('') !== '') throw new Error(`left behind: ${left.join(' ')}`);
}
