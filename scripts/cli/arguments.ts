import type { Arguments, Command, OptionSpec } from './command.ts';
import { CommandError } from './command.ts';
import { didYouMean } from '#scripts/configure/did-you-mean.ts';

/** Every command takes these. */
export const COMMON_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  home: { kind: 'value', placeholder: 'DIR', summary: "the appliance's own directory (default: .appliance in the clone)" },
  file: { kind: 'value', placeholder: 'FILE', summary: 'settings file (default: appliance.yml in the clone)' },
  help: { kind: 'flag', short: 'h', summary: 'this text' },
};

/** Reads a command's line. @throws {CommandError} 2 on anything it does not know */
export function parseArguments(name: string, command: Command, words: readonly string[]): Arguments {
  const options = { ...command.options, ...COMMON_OPTIONS };
  const flags = new Set<string>();
  const values = new Map<string, string>();
  const positionals: string[] = [];
  const dashes = words.indexOf('--');
  const pending = words.slice(0, dashes === -1 ? words.length : dashes);
  for (let word = pending.shift(); word !== undefined; word = pending.shift()) {
    if (!word.startsWith('-') || word === '-') {
      positionals.push(word);
      continue;
    }
    const [option, inline] = optionOf(name, options, word);
    if (options[option]?.kind === 'flag') {
      if (inline !== undefined) throw new CommandError(2, `${name}: --${option} takes no value`);
      flags.add(option);
    } else {
      const value = inline ?? pending.shift();
      if (value === undefined) throw new CommandError(2, `${name}: --${option} needs a value`);
      values.set(option, value);
    }
  }
  if (positionals.length > (command.maxPositionals ?? 0)) {
    throw new CommandError(
      2,
      `${name}: unexpected "${positionals.at(command.maxPositionals ?? 0) ?? ''}"; see scripts/appliance ${name} --help`,
    );
  }
  return { flags, values, positionals, rest: dashes === -1 ? [] : words.slice(dashes + 1) };
}

/** The option's long name and what follows `=`. */
function optionOf(name: string, options: Readonly<Record<string, OptionSpec>>, word: string): readonly [string, string | undefined] {
  const equals = word.indexOf('=');
  const given = equals === -1 ? word : word.slice(0, equals);
  const long = Object.entries(options).find(([option, { short }]) => given === `--${option}` || given === `-${short ?? '-'}`)?.[0];
  if (long !== undefined) return [long, equals === -1 ? undefined : word.slice(equals + 1)];
  const meant = didYouMean(given.replace(/^-+/, ''), Object.keys(options));
  throw new CommandError(2, `${name}: unknown option ${given}${meant === undefined ? '' : `; did you mean --${meant}?`}`);
}
