/** `scripts/appliance COMMAND ...`: finds the command, checks its line, runs it, and turns what it throws into one line and an exit code. */
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArguments } from './arguments.ts';
import type { Command, ExitCode } from './command.ts';
import { CommandError } from './command.ts';
import { commandHelp, programHelp } from './help.ts';
import { didYouMean } from '#scripts/configure/did-you-mean.ts';

/** The order of `--help`. A command is the file of its name in this folder. */
const COMMANDS: Readonly<Record<string, string>> = {
  up: 'start the appliance and wait until it is healthy',
  down: 'stop it; its data stay',
  status: 'show each part: state, version, uptime, configuration',
  logs: 'show what the parts wrote',
  check: 'check the settings file and touch nothing',
  smoke: 'send, read and mute once, from outside, and say how long each step took',
  chat: 'a small terminal client',
  bench: 'measure speed on an appliance of its own',
  test: 'run lint, types, room rules and the tests',
};

const ROOT = resolve(import.meta.dirname, '../..');

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  if (error instanceof CommandError) {
    console.error(error.message);
    return error.exitCode;
  }
  console.error(error);
  return 1;
});
// A command that is over must not hang on something it left open. The timer itself keeps nothing alive.
setTimeout(() => process.exit(), 1_000).unref();

async function main(words: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = words;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    console.log(programHelp(COMMANDS));
    return name === undefined ? 2 : 0;
  }
  const command = await load(name);
  const args = parseArguments(name, command, rest);
  if (args.flags.has('help')) {
    console.log(commandHelp(name, command));
    return 0;
  }
  const home = resolve(args.values.get('home') ?? join(ROOT, '.appliance'));
  const file = resolve(args.values.get('file') ?? join(ROOT, 'appliance.yml'));
  return command.run({ root: ROOT, home, file }, args);
}

async function load(name: string): Promise<Command> {
  const file = join(import.meta.dirname, `${name}.ts`);
  if (!Object.hasOwn(COMMANDS, name)) {
    const meant = didYouMean(name, Object.keys(COMMANDS));
    throw new CommandError(
      2,
      `unknown command "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`} See scripts/appliance --help`,
    );
  }
  await access(file).catch(() => {
    throw new CommandError(2, `the command "${name}" is not part of this build`);
  });
  const module = (await import(pathToFileURL(file).href)) as { readonly command: Command };
  return module.command;
}
