import { spawn } from 'node:child_process';
import { open, readFile, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { homePaths } from '#scripts/servers/home.ts';
import { PARTS } from '#scripts/servers/plan.ts';
import type { Arguments, Command, Context, ExitCode } from './command.ts';
import { CommandError } from './command.ts';
import { chosenRuntime, composeRuntime } from './runtime.ts';
import { didYouMean } from '#scripts/configure/did-you-mean.ts';

const LOGS: readonly string[] = ['supervisor', ...PARTS];
const CONTAINERS: readonly string[] = ['configure', ...PARTS, 'topics'];
const LOOK_EVERY_MS = 200;
/** Enough to see what happened last; the files themselves lie in HOME/logs. */
const DEFAULT_LINES = 200;

export const command: Command = {
  summary: `show what the parts wrote: ${LOGS.join(', ')} (in containers also ${CONTAINERS.filter((name) => !LOGS.includes(name)).join(', ')}); all without a name`,
  usage: '[PART] [-f] [--lines N]',
  options: {
    follow: { kind: 'flag', short: 'f', summary: 'go on until Ctrl-C' },
    lines: { kind: 'value', short: 'n', placeholder: 'N', summary: `last lines of each part to begin with (default ${DEFAULT_LINES})` },
  },
  maxPositionals: 1,
  run: showLogs,
};

async function showLogs(context: Context, args: Arguments): Promise<ExitCode> {
  const isCompose = (await chosenRuntime(context.home)) === 'compose';
  const parts = partsOf(args.positionals[0], isCompose ? CONTAINERS : LOGS);
  const lines = linesOf(args.values.get('lines'));
  if (isCompose) return showContainerLogs(context, parts, lines, args.flags.has('follow'));
  const { home } = context;
  const prefix = (part: string): string => (parts.length === 1 ? '' : `${part.padEnd(16)} `);
  const { log } = homePaths(home);
  for (const part of parts) await printTail(log(part), prefix(part), lines);
  if (!args.flags.has('follow')) return 0;
  const stopped = new AbortController();
  const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const following = parts.map((part) => follow(log(part), prefix(part), stopped.signal));
  await interrupted;
  stopped.abort();
  await Promise.all(following);
  return 0;
}

/** Docker keeps these, and caps them. */
async function showContainerLogs(context: Context, parts: readonly string[], lines: number, isFollowing: boolean): Promise<ExitCode> {
  const { command: program, project } = await composeRuntime(context);
  const flags = ['--tail', String(lines), ...(parts.length === 1 ? ['--no-log-prefix'] : []), ...(isFollowing ? ['--follow'] : [])];
  const [name, ...words] = [...program, '--project-name', project.name, '--file', project.file, 'logs', ...flags, ...parts];
  const child = spawn(name, words, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = (await once(child, 'close')) as [number | null];
  return code === 0 || isFollowing ? 0 : 1;
}

function partsOf(name: string | undefined, known: readonly string[]): readonly string[] {
  if (name === undefined) return known;
  if (known.includes(name)) return [name];
  const meant = didYouMean(name, known);
  throw new CommandError(2, `logs: unknown part "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`);
}

function linesOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LINES;
  if (!/^\d{1,7}$/.test(text)) throw new CommandError(2, `logs: --lines is a number, not "${text}"`);
  return Number(text);
}

async function printTail(file: string, prefix: string, count: number): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').slice(0, -1);
  for (const line of count === 0 ? [] : lines.slice(-count)) console.log(`${prefix}${line}`);
}

/** Prints what is appended. A file that is shorter than before, or new, was rotated: it is read from its beginning. */
async function follow(file: string, prefix: string, stopped: AbortSignal): Promise<void> {
  let { inode, position } = await placeOf(file);
  let rest = '';
  while (!stopped.aborted) {
    await pause(LOOK_EVERY_MS, undefined, { signal: stopped }).catch(() => undefined);
    const now = await placeOf(file);
    if (now.inode !== inode || now.position < position) position = 0;
    inode = now.inode;
    if (now.position === position) continue;
    const lines = (rest + (await readRange(file, position, now.position))).split('\n');
    position = now.position;
    rest = lines.pop() ?? '';
    for (const line of lines) console.log(`${prefix}${line}`);
  }
}

async function placeOf(file: string): Promise<{ inode: number; position: number }> {
  return stat(file).then(
    ({ ino, size }) => ({ inode: ino, position: size }),
    () => ({ inode: 0, position: 0 }),
  );
}

async function readRange(file: string, from: number, to: number): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(to - from), 0, to - from, from);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
