import { COMMON_OPTIONS } from './arguments.ts';
import type { Command, OptionSpec } from './command.ts';

const EXIT_CODES = [
  '0 ok',
  '1 it ran and found a fault, or could not finish (the last line of stderr says which)',
  '2 configuration or arguments refused, nothing touched',
  '3 preflight refused',
  '4 applied, or found, unhealthy',
  '10 a plan has changes',
];

export function programHelp(commands: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  return [
    'usage: scripts/appliance COMMAND [OPTION...]',
    '',
    ...Object.entries(commands).map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`),
    '',
    'scripts/appliance COMMAND --help tells more about one.',
    '',
    'Exit codes:',
    ...EXIT_CODES.map((line) => `  ${line}`),
  ].join('\n');
}

export function commandHelp(name: string, command: Command): string {
  const options = Object.entries({ ...command.options, ...COMMON_OPTIONS }).map(
    ([option, spec]) => [labelOf(option, spec), spec.summary] as const,
  );
  const width = Math.max(...options.map(([label]) => label.length));
  return [
    `usage: scripts/appliance ${name} ${command.usage}`.trimEnd(),
    '',
    command.summary,
    '',
    ...options.map(([label, summary]) => `  ${label.padEnd(width)}  ${summary}`),
  ].join('\n');
}

function labelOf(option: string, { kind, short, placeholder = 'VALUE' }: OptionSpec): string {
  return `${short === undefined ? '' : `-${short}, `}--${option}${kind === 'value' ? ` ${placeholder}` : ''}`;
}
