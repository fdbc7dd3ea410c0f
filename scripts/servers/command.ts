import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

/** Lines kept for an error message; enough to see what an installer or a server complained about. */
const TAIL_LINES = 20;

export interface RunOptions {
  readonly cwd?: string;
  /** Written to the command's standard input; without it the input is empty. */
  readonly input?: string;
  readonly onLine?: (line: string) => void;
}

/** A command that ended with another code than 0. The message carries its last lines. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/** Runs one command to its end and returns what it wrote to standard output. @throws {CommandFailed} */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const child = spawn(command, args, { cwd: options.cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  const output: string[] = [];
  const tail: string[] = [];
  const keep = (line: string): void => {
    options.onLine?.(line);
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
  };
  child.stdin.on('error', () => undefined); // A command that does not read its input closes it early.
  child.stdin.end(options.input ?? '');
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', (error) => {
      reject(new CommandFailed(`${command} could not be started: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      resolve(code === 0 ? '' : (signal ?? `exit code ${String(code)}`));
    });
  });
  eachLine(child.stdout, (line) => {
    output.push(line);
    keep(line);
  });
  eachLine(child.stderr, keep);
  const failure = await ended;
  if (failure !== '') throw new CommandFailed(`${command} ${args.slice(0, 2).join(' ')} failed (${failure})\n${tail.join('\n')}`);
  return output.join('\n');
}

/** Calls `onLine` for each line of a stream, without its line end. */
export function eachLine(stream: Readable, onLine: (line: string) => void): void {
  createInterface({ input: stream, crlfDelay: Infinity }).on('line', onLine);
}
