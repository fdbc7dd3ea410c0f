import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../log/log.ts';
import { Lifecycle } from './lifecycle.ts';
import type { Part } from './lifecycle.ts';

/** How long a drain may take before the process leaves anyway (ms); Docker and the supervisor kill after 30 s. */
const DRAIN_MS = 25_000;
const FIRST_RETRY_MS = 200;
const LAST_RETRY_MS = 3_000;

export interface ProcessParts {
  readonly parts: readonly Part[];
  /** Called when every part has started. */
  readonly running: () => void;
  /** Called when the drain begins. */
  readonly stopping: () => void;
}

/**
 * Runs a process until SIGTERM or SIGINT: parts start in order and stop in reverse. Ends the process with 0 after a clean drain, 1 otherwise.
 * An error nobody caught ends it too: the supervisor starts it anew, which is better than a process that half works.
 *
 * @see OPS-01 @see OPS-02
 */
export async function runProcess(log: Log, { parts, running, stopping }: ProcessParts): Promise<void> {
  const lifecycle = new Lifecycle();
  const asked = Promise.race(['SIGTERM', 'SIGINT'].map((signal) => once(process, signal)));
  process.on('uncaughtException', (error) => {
    log.error({ error }, 'an error that nobody caught ends the process');
    setImmediate(() => process.exit(1)); // a turn later, so that the line is written
  });
  const started = lifecycle.start(parts).then(running);
  await Promise.race([started, asked]);
  await asked;
  log.info({}, 'draining');
  stopping();
  setTimeout(() => {
    log.error({ after_ms: DRAIN_MS }, 'the drain took too long');
    process.exit(1);
  }, DRAIN_MS).unref();
  await lifecycle.stop();
  log.info({}, 'stopped');
  process.exit(0);
}

/** A part whose start needs something that may come later: it is tried until it works, and each failure is told. */
export function patiently(part: Part, log: Log): Part {
  let isStopped = false;
  return {
    name: part.name,
    async start() {
      for (let wait = FIRST_RETRY_MS; ; wait = Math.min(wait * 2, LAST_RETRY_MS)) {
        try {
          await part.start();
          return;
        } catch (error) {
          if (isStopped) throw error;
          log.warn({ part: part.name, error: error as Error, wait_ms: wait }, 'not started yet');
          await pause(wait);
        }
      }
    },
    async stop() {
      isStopped = true;
      await part.stop();
    },
  };
}

/** Something that is opened and closed, as a part. */
export function part(name: string, start: () => Promise<unknown>, stop: () => Promise<unknown> = () => Promise.resolve()): Part {
  return {
    name,
    async start() {
      await start();
    },
    async stop() {
      await stop();
    },
  };
}
