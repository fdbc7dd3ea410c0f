import { join } from 'node:path';
import { readSettings } from '#scripts/configure/settings.ts';
import type { ReadSettings } from '#scripts/configure/settings.ts';
import type { Arguments, Command, Context, ExitCode } from './command.ts';
import { refuse } from './refuse.ts';
import { runtimeFor } from './runtime.ts';
import { Steps } from './steps.ts';
import { upCompose } from './up-compose.ts';
import { upProcess } from './up-process.ts';

export const command: Command = {
  summary: 'start the appliance and wait until it is healthy; changed settings are applied, otherwise a second run changes nothing',
  usage: '[--file FILE] [--home DIR] [--runtime process|compose]',
  options: {
    runtime: {
      kind: 'value',
      placeholder: 'NAME',
      summary: 'process or compose; chosen at the first start (compose where a Docker engine has the images) and kept',
    },
  },
  run: up,
};

async function up(context: Context, args: Arguments): Promise<ExitCode> {
  const steps = new Steps();
  const read = await readSettings({ now: new Date() }, context.file).catch(refuse);
  const runtime = await runtimeFor(context, args.values.get('runtime'));
  const isNew = await (runtime === 'compose' ? upCompose : upProcess)(steps, context, read);
  for (const warning of read.warnings) console.log(`warning: ${warning}`);
  printWelcome(context, read, isNew ? `up after ${steps.total.trim()} s (${runtime} runtime)` : 'it runs already; nothing was changed');
  return 0;
}

function printWelcome({ home }: Context, { settings }: ReadSettings, summary: string): void {
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
