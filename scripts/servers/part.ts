/**
 * One supervised process.
 *
 *   stopped -> starting -> ready <-> unhealthy        a process is there; `health` says which of the two
 *                 ^           |          |
 *                 +-- waiting <----------+            it ended or did not start: again after a pause that grows
 *
 * A process that is there but unhealthy is left alone: it waits for something else and recovers by itself.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Server } from './server.ts';

export interface PartSpec {
  readonly name: string;
  /** Resolves when the process runs; it need not be able to work yet. */
  start(onLine: (line: string) => void, stopping: AbortSignal): Promise<Server>;
  /** What the process says about itself; undefined when it cannot do its work. */
  health(): Promise<PartHealth | undefined>;
}

export interface PartHealth {
  readonly version?: string;
  readonly configHash?: string;
  /** Optional parts it misses. */
  readonly degraded?: readonly string[];
  /** What waits in it: rows of an outbox, jobs of a queue, records of a topic; by name. */
  readonly lag?: Readonly<Record<string, number>>;
}

export type PartState = 'stopped' | 'starting' | 'ready' | 'unhealthy' | 'waiting';

export interface PartStatus {
  readonly name: string;
  readonly state: PartState;
  readonly pid: number | undefined;
  readonly startedAt: string | undefined;
  readonly restarts: number;
  readonly problem: string | undefined;
  readonly health: PartHealth | undefined;
}

const HEALTH_EVERY_MS = 1_000;
const HEALTH_EVERY_WHILE_STARTING_MS = 100;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 30_000;
/** A process that ran this long had started well: the next pause is short again. */
const SETTLED_MS = 60_000;

export class Part {
  readonly name: string;
  readonly #spec: PartSpec;
  readonly #log: (line: string) => void;
  #state: PartState = 'stopped';
  #server: Server | undefined;
  #startedAt: Date | undefined;
  #restarts = 0;
  #problem: string | undefined;
  #health: PartHealth | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #isReady = Promise.withResolvers<undefined>();

  constructor(spec: PartSpec, log: (line: string) => void) {
    this.name = spec.name;
    this.#spec = spec;
    this.#log = log;
  }

  /** Starts the process and keeps it running until `stop`. Does nothing when it is started already. */
  start(): void {
    if (this.#state !== 'stopped') return;
    this.#stopping = new AbortController();
    this.#state = 'starting';
    this.#loop = this.#keepRunning(this.#stopping.signal);
  }

  /** Resolves when the part is healthy for the first time since it was started. */
  async ready(): Promise<void> {
    await this.#isReady.promise;
  }

  /** Ends the process, with the time to drain that it was given. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#server?.stop();
    await this.#loop;
    this.#state = 'stopped';
    this.#health = undefined;
    this.#isReady = Promise.withResolvers<undefined>();
  }

  status(): PartStatus {
    return {
      name: this.name,
      state: this.#state,
      pid: this.#server?.pid,
      startedAt: this.#server === undefined ? undefined : this.#startedAt?.toISOString(),
      restarts: this.#restarts,
      problem: this.#problem,
      health: this.#health,
    };
  }

  async #keepRunning(stopping: AbortSignal): Promise<void> {
    while (!isOver(stopping)) {
      const began = performance.now();
      await this.#runOnce(stopping);
      if (isOver(stopping)) return;
      if (performance.now() - began > SETTLED_MS) this.#pauseMs = FIRST_PAUSE_MS;
      this.#state = 'waiting';
      await pause(this.#pauseMs, undefined, { signal: stopping }).catch(() => undefined);
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      this.#restarts += 1;
    }
  }

  async #runOnce(stopping: AbortSignal): Promise<void> {
    this.#state = 'starting';
    try {
      this.#startedAt = new Date();
      this.#server = await this.#spec.start(this.#log, stopping);
      // The stop that came meanwhile had no process to end yet.
      if (isOver(stopping)) await this.#server.stop();
      const watching = new AbortController();
      const watched = this.#watchHealth(watching.signal);
      const { code, signal } = await this.#server.exited;
      watching.abort();
      await watched;
      await this.#server.kill(); // What it may have left of its own children.
      this.#note(`ended (${signal ?? `exit code ${String(code)}`})`, stopping);
    } catch (error) {
      this.#note(error instanceof Error ? error.message : String(error), stopping);
    } finally {
      this.#server = undefined;
      this.#health = undefined;
    }
  }

  async #watchHealth(ended: AbortSignal): Promise<void> {
    while (!isOver(ended)) {
      const health = await this.#spec.health().catch(() => undefined);
      if (isOver(ended)) return;
      this.#seeHealth(health);
      const everyMs = this.#state === 'ready' ? HEALTH_EVERY_MS : HEALTH_EVERY_WHILE_STARTING_MS;
      await pause(everyMs, undefined, { signal: ended }).catch(() => undefined);
    }
  }

  #seeHealth(health: PartHealth | undefined): void {
    this.#health = health;
    if (health !== undefined) {
      this.#state = 'ready';
      this.#problem = undefined;
      this.#isReady.resolve(undefined);
    } else if (this.#state === 'ready') this.#state = 'unhealthy';
  }

  #note(problem: string, stopping: AbortSignal): void {
    if (isOver(stopping)) return;
    this.#problem = problem;
    this.#log(`supervisor ${new Date().toISOString()}: ${this.name} ${problem}`);
  }
}

/** A signal changes while we wait, which a plain test of the property hides from the compiler. */
export function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}
