/**
 * Keeps the parts of one appliance running: servers, then the schema, then services, then the door.
 *
 * Databases are brought up to date before a service starts. Kafka is in nobody's way: it starts beside the others, and only the very
 * first start of a configuration waits for its topics.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isOver, Part } from './part.ts';
import type { PartSpec, PartStatus } from './part.ts';

/** What runs, for one configuration. */
export interface Plan {
  readonly configHash: string;
  /** Started together. A fingerprint that changes with the configuration means the server must be started anew. */
  readonly servers: readonly (PartSpec & { readonly fingerprint: string; readonly isOptional?: boolean })[];
  /** @throws when it could not finish; it is tried again */
  migrateDatabases(onLine: (line: string) => void): Promise<void>;
  /** The same, once the optional servers are ready. */
  migrateTopics(onLine: (line: string) => void): Promise<void>;
  /** Whether both were done for this configuration before: then no service waits for topics. */
  readonly isMigrated: boolean;
  readonly services: readonly PartSpec[];
  readonly doors: readonly PartSpec[];
}

export type Phase = 'starting servers' | 'migrating' | 'starting services' | 'running' | 'stopping';

export interface ApplianceStatus {
  readonly pid: number;
  readonly phase: Phase;
  readonly configHash: string;
  /** Why migrating does not get on. */
  readonly problem: string | undefined;
  readonly isHealthy: boolean;
  readonly parts: readonly PartStatus[];
}

export interface SupervisorDeps {
  /** The plan for the configuration that is there now. */
  readonly plan: () => Promise<Plan>;
  readonly logOf: (part: string) => (line: string) => void;
}

/** How long the door waits for services: one that does not come must not keep the others from the world. */
const DOOR_PATIENCE_MS = 30_000;

interface Running {
  readonly part: Part;
  readonly fingerprint: string;
}

export class Supervisor {
  readonly #deps: SupervisorDeps;
  #phase: Phase = 'starting servers';
  #plan: Plan | undefined;
  #problem: string | undefined;
  readonly #servers = new Map<string, Running>();
  #services: readonly Part[] = [];
  #doors: readonly Part[] = [];
  #stopping = new AbortController();
  #work: Promise<void> = Promise.resolve();
  /** The last of what was asked for; two of them at once would start parts that nobody knows any more. */
  #turn: Promise<void> = Promise.resolve();
  #isEnding = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /** Begins; what it came to is in `status`. */
  start(): void {
    this.#stopping = new AbortController();
    this.#work = this.#bringUp(this.#stopping.signal).catch((error: unknown) => {
      this.#problem = error instanceof Error ? error.message : String(error);
      this.#deps.logOf('supervisor')(this.#problem);
    });
  }

  /** Takes the configuration that is there now: services and door start anew, servers only where theirs changed. Nothing after `stop`. */
  async apply(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#isEnding) return;
      await this.#halt();
      await this.#stopServices();
      this.start();
    });
  }

  /** Last first: the door stops taking connections while the services drain, then the servers end. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#inTurn(async () => {
      await this.#halt();
      this.#phase = 'stopping';
      await this.#stopServices();
      await Promise.all([...this.#servers.values()].map(({ part }) => part.stop()));
      this.#servers.clear();
    });
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined); // Who asked for it is told.
    await done;
  }

  status(): ApplianceStatus {
    const parts = [...[...this.#servers.values()].map(({ part }) => part), ...this.#services, ...this.#doors].map((part) => part.status());
    return {
      pid: process.pid,
      phase: this.#phase,
      configHash: this.#plan?.configHash ?? '',
      problem: this.#problem,
      isHealthy: this.#phase === 'running' && parts.every(({ state }) => state === 'ready'),
      parts,
    };
  }

  async #halt(): Promise<void> {
    this.#stopping.abort();
    await this.#work;
  }

  async #bringUp(stopping: AbortSignal): Promise<void> {
    this.#problem = undefined;
    this.#phase = 'starting servers';
    const plan = await this.#planWhenPossible(stopping);
    if (plan === undefined) return;
    this.#plan = plan;
    await this.#startServers(plan);
    const topics = this.#migrateTopics(plan, stopping);
    await this.#untilReady(plan, false, stopping);
    if (isOver(stopping)) return;
    this.#phase = 'migrating';
    await this.#untilDone((onLine) => plan.migrateDatabases(onLine), stopping);
    if (!plan.isMigrated) await topics;
    if (isOver(stopping)) return;
    this.#phase = 'starting services';
    this.#services = plan.services.map((spec) => this.#part(spec));
    for (const part of this.#services) part.start();
    await unless(stopping, Promise.race([Promise.all(this.#services.map((part) => part.ready())), patience(DOOR_PATIENCE_MS, stopping)]));
    if (isOver(stopping)) return;
    this.#doors = plan.doors.map((spec) => this.#part(spec));
    for (const part of this.#doors) part.start();
    this.#phase = 'running';
  }

  async #planWhenPossible(stopping: AbortSignal): Promise<Plan | undefined> {
    let plan: Plan | undefined;
    await this.#untilDone(async () => {
      plan = await this.#deps.plan();
    }, stopping);
    return plan;
  }

  async #startServers(plan: Plan): Promise<void> {
    const gone = [...this.#servers.keys()].filter((name) =>
      plan.servers.every((spec) => spec.name !== name || spec.fingerprint !== this.#servers.get(name)?.fingerprint),
    );
    await Promise.all(
      gone.map(async (name) => {
        await this.#servers.get(name)?.part.stop();
        this.#servers.delete(name);
      }),
    );
    for (const spec of plan.servers) {
      if (this.#servers.has(spec.name)) continue;
      const part = this.#part(spec);
      this.#servers.set(spec.name, { part, fingerprint: spec.fingerprint });
      part.start();
    }
  }

  async #untilReady(plan: Plan, isOptional: boolean, stopping: AbortSignal): Promise<void> {
    const wanted = plan.servers.filter((spec) => (spec.isOptional ?? false) === isOptional);
    const parts = wanted.flatMap(({ name }) => this.#servers.get(name)?.part ?? []);
    await unless(stopping, Promise.all(parts.map((part) => part.ready())));
  }

  async #migrateTopics(plan: Plan, stopping: AbortSignal): Promise<void> {
    await this.#untilReady(plan, true, stopping);
    await this.#untilDone((onLine) => plan.migrateTopics(onLine), stopping);
  }

  async #untilDone(work: (onLine: (line: string) => void) => Promise<void>, stopping: AbortSignal): Promise<void> {
    for (let pauseMs = 500; !isOver(stopping); pauseMs = Math.min(pauseMs * 2, 30_000)) {
      try {
        await work(this.#deps.logOf('migrate'));
        this.#problem = undefined;
        return;
      } catch (error) {
        this.#problem = error instanceof Error ? error.message : String(error);
        this.#deps.logOf('supervisor')(this.#problem);
        await patience(pauseMs, stopping);
      }
    }
  }

  async #stopServices(): Promise<void> {
    await Promise.all([...this.#doors, ...this.#services].map((part) => part.stop()));
    this.#doors = [];
    this.#services = [];
  }

  #part(spec: PartSpec): Part {
    return new Part(spec, this.#deps.logOf(spec.name));
  }
}

/** Waits for the work, or until somebody says stop. */
async function unless(stopping: AbortSignal, work: Promise<unknown>): Promise<void> {
  if (isOver(stopping)) return;
  const stopped = Promise.withResolvers<undefined>();
  const listener = (): void => stopped.resolve(undefined);
  stopping.addEventListener('abort', listener);
  await Promise.race([work, stopped.promise]);
  stopping.removeEventListener('abort', listener);
}

async function patience(ms: number, stopping: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal: stopping }).catch(() => undefined);
}
