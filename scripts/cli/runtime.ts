/** Which of the two runtimes an appliance uses: chosen at its first start and kept, because each keeps its data in another place. */
import { join } from 'node:path';
import { areImagesThere, canPull } from '#scripts/images/images.ts';
import { projectOf } from '#scripts/images/compose-file.ts';
import type { Project } from '#scripts/images/compose-file.ts';
import type { ComposeCommand } from '#scripts/images/compose-plugin.ts';
import { composeCommand } from '#scripts/images/compose-plugin.ts';
import { engineVersion } from '#scripts/images/engine.ts';
import { homePaths, readText } from '#scripts/servers/home.ts';
import type { Context } from './command.ts';
import { CommandError } from './command.ts';

export type Runtime = 'process' | 'compose';

/** @returns undefined when it was never started */
export async function chosenRuntime(home: string): Promise<Runtime | undefined> {
  const text = await readText(homePaths(home).runtime);
  return text === 'compose' || text === 'process' ? text : undefined;
}

/**
 * The runtime of a start. What is not chosen yet becomes compose where an engine answers that has the images or gets them from a registry.
 *
 * @throws {CommandError} 2 not a runtime; 3 the data are those of the other one
 */
export async function runtimeFor(context: Context, wanted: string | undefined): Promise<Runtime> {
  const { home, root } = context;
  if (wanted !== undefined && wanted !== 'process' && wanted !== 'compose') {
    throw new CommandError(2, `up: --runtime is process or compose, not "${wanted}"`);
  }
  const chosen = await chosenRuntime(home);
  if (chosen !== undefined && wanted !== undefined && wanted !== chosen) {
    throw new CommandError(
      3,
      `this appliance runs in the ${chosen} runtime and its data lie in ${placeOfData(context, chosen)}; move them away to begin anew`,
    );
  }
  const known = wanted ?? chosen;
  if (known !== undefined) return known;
  const hasEngine = (await engineVersion()) !== undefined && (await composeCommand()) !== undefined;
  return hasEngine && ((await areImagesThere(root)) || (await canPull(root))) ? 'compose' : 'process';
}

function placeOfData(context: Context, runtime: Runtime): string {
  if (runtime === 'process') return join(context.home, 'data');
  const { name } = projectOf(context);
  return `the volumes ${['mysql', 'redis', 'kafka'].map((part) => `${name}_${part}-data`).join(', ')}`;
}

export interface ComposeRuntime {
  readonly command: ComposeCommand;
  readonly project: Project;
}

/** What it takes to talk to the containers of an appliance. @throws {CommandError} 3 no engine, no Compose */
export async function composeRuntime(context: Context): Promise<ComposeRuntime> {
  if ((await engineVersion()) === undefined) throw new CommandError(3, 'no Docker engine answers: start it, or install one');
  const command = await composeCommand();
  if (command === undefined) throw new CommandError(3, 'docker compose is missing, or older than version 2: install docker-compose-plugin');
  return { command, project: projectOf(context) };
}
