import { setTimeout as pause } from 'node:timers/promises';
import { compose } from '#scripts/images/compose-file.ts';
import { containersOf } from '#scripts/images/compose-status.ts';
import { askStatus, askTo } from '#scripts/servers/control.ts';
import { homePaths } from '#scripts/servers/home.ts';
import type { Command, Context, ExitCode } from './command.ts';
import { CommandError } from './command.ts';
import { chosenRuntime, composeRuntime } from './runtime.ts';
import { Steps } from './steps.ts';

/** The services have 25 s to drain, then the servers end. */
const DEADLINE_MS = 90_000;

export const command: Command = {
  summary: 'stop the appliance: the door first, then the services when they have drained, then the servers; its data stay',
  usage: '[--home DIR]',
  options: {},
  run: down,
};

async function down(context: Context): Promise<ExitCode> {
  return (await chosenRuntime(context.home)) === 'compose' ? downCompose(context) : downProcess(context);
}

/** Containers and networks go; the volumes with the data stay. */
async function downCompose(context: Context): Promise<ExitCode> {
  const { command: program, project } = await composeRuntime(context);
  if ((await containersOf(project)).size === 0) console.log('it does not run');
  await new Steps().step('stop', (progress) => compose(program, project, ['down'], { onLine: (line) => progress(line.trim()) }));
  return 0;
}

async function downProcess({ home }: Context): Promise<ExitCode> {
  const { control } = homePaths(home);
  if (!(await askTo(control, 'stop'))) {
    console.log('it does not run');
    return 0;
  }
  await new Steps().step('stop', async (progress) => {
    const deadline = performance.now() + DEADLINE_MS;
    for (let status = await askStatus(control); status !== undefined; status = await askStatus(control)) {
      if (performance.now() > deadline) throw new CommandError(1, `still stopping; the supervisor is process ${status.pid}`);
      progress(
        status.parts
          .filter(({ state }) => state !== 'stopped')
          .map(({ name }) => name)
          .join(', '),
      );
      await pause(100);
    }
  });
  return 0;
}
