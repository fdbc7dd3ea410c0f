import { setTimeout as pause } from 'node:timers/promises';
import { askStatus, askTo } from '#scripts/servers/control.ts';
import { homePaths } from '#scripts/servers/home.ts';
import type { Command, Context, ExitCode } from './command.ts';
import { CommandError } from './command.ts';
import { Steps } from './steps.ts';

/** The services have 25 s to drain, then the servers end. */
const DEADLINE_MS = 90_000;

export const command: Command = {
  summary: 'stop the appliance: the door first, then the services when they have drained, then the servers; its data stay',
  usage: '[--home DIR]',
  options: {},
  run: down,
};

async function down({ home }: Context): Promise<ExitCode> {
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
