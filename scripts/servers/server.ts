/**
 * A child process that serves: started until it is ready, watched, ended.
 *
 * Each has a process group of its own, so that a Ctrl-C in the terminal does not reach it and so that what a dead parent leaves behind
 * (nginx' workers) can be ended with it. It gets SIGTERM when the process that started it dies.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { eachLine } from './command.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Server {
  readonly name: string;
  readonly pid: number;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<Exit>;
  /** SIGKILL to the whole group; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, nobody answers. */
  pause(): void;
  resume(): void;
  /** Asks to end; after `stopDeadlineMs` it is killed. Also ends a paused server. Resolves when the process is gone. */
  stop(): Promise<void>;
}

export interface ServerSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  /** Called for each line of output; the line end is taken off. */
  readonly onLine: (line: string) => void;
  /** Asked every 50 ms until it says yes; `lines` are the lines written so far that are still kept. */
  readonly isReady: (lines: readonly string[]) => Promise<boolean> | boolean;
  /** Default 60,000 ms. */
  readonly readyDeadlineMs?: number;
  /** Default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
  /** Default 25,000 ms. */
  readonly stopDeadlineMs?: number;
  /** Gives up waiting for readiness. */
  readonly stopping?: AbortSignal | undefined;
}

/** A server that ended or stayed unready. The message has its last lines. */
export class ServerFailed extends Error {
  override readonly name = 'ServerFailed';
}

const KEPT_LINES = 200;
const SHOWN_LINES = 15;
const CHECK_EVERY_MS = 50;
const LAST_WORDS_MS = 300;

/** Starts a server and waits until it is ready. @throws {ServerFailed}; then nothing of it is left running */
export async function startServer(spec: ServerSpec): Promise<Server> {
  const lines: string[] = [];
  const server = launch(spec, (line) => {
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
    spec.onLine(line);
  });
  try {
    await untilReady(spec, await server, lines);
    return await server;
  } catch (error) {
    await (await server).kill();
    throw error;
  }
}

async function launch(spec: ServerSpec, onLine: (line: string) => void): Promise<Server> {
  const child = spawn(spec.command, spec.args, {
    cwd: spec.cwd ?? '/',
    // Nothing of the caller's environment reaches a server: its settings come from its file alone.
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  eachLine(child.stdout, onLine);
  eachLine(child.stderr, onLine);
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => {
      // What it wrote last, mostly why it ended, is still on its way; children that outlive it may keep the pipe open for ever.
      const closed = new Promise((done) => child.once('close', done));
      void Promise.race([closed, delay(LAST_WORDS_MS, undefined, { ref: false })]).then(() => resolve({ code, signal }));
    });
  });
  const pid = await pidOf(spec, child);
  return handle(spec, pid, exited);
}

async function pidOf(spec: ServerSpec, child: ChildProcess): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.once('spawn', () => resolve(child.pid ?? 0));
  child.once('error', (error) => {
    reject(new ServerFailed(`${spec.name} could not be started: ${error.message}`));
  });
  return promise;
}

function handle(spec: ServerSpec, pid: number, exited: Promise<Exit>): Server {
  const kill = async (): Promise<void> => {
    signalGroup(pid, 'SIGKILL');
    await exited;
    signalGroup(pid, 'SIGKILL'); // What it had started meanwhile.
  };
  return {
    name: spec.name,
    pid,
    exited,
    kill,
    pause: () => {
      signalGroup(pid, 'SIGSTOP');
    },
    resume: () => {
      signalGroup(pid, 'SIGCONT');
    },
    async stop() {
      signal(pid, spec.stopSignal ?? 'SIGTERM');
      signalGroup(pid, 'SIGCONT');
      const deadline = new AbortController();
      const late = delay(spec.stopDeadlineMs ?? 25_000, 'late', { signal: deadline.signal }).catch(() => 'ended');
      await Promise.race([exited, late]);
      deadline.abort();
      await kill();
    },
  };
}

async function untilReady(spec: ServerSpec, server: Server, lines: readonly string[]): Promise<void> {
  const deadlineMs = spec.readyDeadlineMs ?? 60_000;
  const deadline = performance.now() + deadlineMs;
  let exit: Exit | undefined;
  void server.exited.then((value) => (exit = value));
  for (;;) {
    if (await spec.isReady(lines)) return;
    if (exit !== undefined)
      throw new ServerFailed(`${spec.name} ended (${exit.signal ?? `exit code ${String(exit.code)}`})${shown(lines)}`);
    if (spec.stopping?.aborted === true) throw new ServerFailed(`${spec.name} was stopped before it was ready`);
    if (performance.now() > deadline) throw new ServerFailed(`${spec.name} was not ready after ${deadlineMs / 1000} s${shown(lines)}`);
    await delay(CHECK_EVERY_MS);
  }
}

function shown(lines: readonly string[]): string {
  return lines.length === 0 ? '; it wrote nothing' : `; its last lines:\n${lines.slice(-SHOWN_LINES).join('\n')}`;
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  signal(-pid, name);
}

/** A process that is gone needs no signal. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
