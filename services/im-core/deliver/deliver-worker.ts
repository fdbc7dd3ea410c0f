import { EventEmitter, once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { CHANGE_KINDS } from '#shared/contract/commands.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { decodeJob } from '#shared/tenant/deliver/deliver-job.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import { SHARDS } from '#shared/tenant/deliver/deliver-queue.ts';
import { Fenced, LEASE_MS } from '#shared/tenant/deliver/shard-owner.ts';
import type { ShardOwner } from '#shared/tenant/deliver/shard-owner.ts';
import type { deliverMetrics } from './hand-over.ts';
import type { TenantDelivery } from './tenant-delivery.ts';

export interface DeliverWorkerDeps {
  readonly owner: ShardOwner;
  /** The connection the owner works on; when it breaks, the term is over. */
  readonly redis: Redis;
  /** A connection of its own, which only waits for wake tokens. */
  readonly waiting: Redis;
  readonly base: string;
  readonly tenants: ReadonlyMap<string, TenantDelivery>;
  readonly metrics: ReturnType<typeof deliverMetrics>;
  readonly log: Log;
}

export interface DeliverSettings {
  /** Each works on up to 8 shards at the same time. */
  readonly workers: number;
  /** How long one wait for a wake token lasts (ms). */
  readonly takeTimeoutMs: number;
}

/** A worker mostly waits for answers of Redis: eight of them, the default, look after all 64 shards. */
const SHARDS_A_WORKER = 8;
/** Jobs taken of a shard at once. */
const TAKE_JOBS = 64;
const FIRST_BACKOFF_MS = 50;
const LAST_BACKOFF_MS = 2_000;

/**
 * Owns shards of the delivery queue and works them off: takes jobs, delivers conversation by conversation in order, removes what is done.
 * A job that fails because something is away is tried again in place for as long as the shard is ours; nothing is skipped. When the lease
 * or the connection is lost, everything in memory is dropped and the shards are taken anew; what was unfinished comes back first.
 *
 * Emits `delivered` (job) after its change took effect.
 */
export class DeliverWorker extends EventEmitter<{ delivered: [DeliverJob]; wake: [] }> implements Part {
  readonly name = 'deliver worker';
  readonly #deps: DeliverWorkerDeps;
  readonly #settings: DeliverSettings;
  readonly #busy = new Map<number, Promise<void>>();
  #isRunning = false;
  #term = 0;
  #loops: Promise<unknown> = Promise.resolve();
  #leases: NodeJS.Timeout | undefined;
  #renewal: Promise<void> = Promise.resolve();
  #isAwake = true;

  constructor(deps: DeliverWorkerDeps, settings: DeliverSettings) {
    super();
    this.#deps = deps;
    this.#settings = settings;
    deps.redis.on('close', () => this.#endTerm());
    deps.redis.on('ready', () => this.#wake());
  }

  /** Resolves when the shards that are free are ours. */
  async start(): Promise<void> {
    this.#isRunning = true;
    await this.#deps.owner.acquire(allShards());
    this.#leases = setInterval(() => {
      this.#renewal = this.#renewal.then(() => this.#keepLeases());
    }, LEASE_MS / 3);
    this.#loops = Promise.all([this.#work(), this.#listen()]);
  }

  /** Whether any shard is this process's right now. */
  get isOwner(): boolean {
    return this.#deps.owner.held.size > 0;
  }

  /** Finishes what was taken, gives the shards back. What still waits stays in the queue for the next owner. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    clearInterval(this.#leases);
    await this.#renewal;
    this.#wake();
    await Promise.all(this.#busy.values());
    this.#deps.waiting.disconnect();
    await this.#loops;
    await this.#deps.owner.release().catch(() => undefined); // the leases run out by themselves
  }

  async #work(): Promise<void> {
    while (this.#isRunning) {
      try {
        if (!(await this.#takeSome())) await this.#sleep();
      } catch (error) {
        this.#deps.log.warn({ error: error as Error }, 'delivery queue out of reach');
        this.#endTerm();
        await pause(FIRST_BACKOFF_MS * 4);
      }
    }
  }

  /** @returns whether there may be more to take at once */
  async #takeSome(): Promise<boolean> {
    this.#isAwake = false;
    const { owner } = this.#deps;
    if (owner.held.size === 0) await owner.acquire(allShards()).catch(() => undefined); // Redis away: looked at again after the sleep
    const free = [...owner.held].filter((shard) => !this.#busy.has(shard));
    const hands = this.#settings.workers * SHARDS_A_WORKER - this.#busy.size;
    if (free.length === 0 || hands <= 0) return false;
    const start = Math.floor(Math.random() * free.length); // no shard is always the last to be looked at
    const held = owner.held.size;
    const taken = await owner.take([...free.slice(start), ...free.slice(0, start)], { jobs: TAKE_JOBS, shards: hands });
    if (owner.held.size < held) {
      this.#endTerm(); // a lease ran out, or Redis was emptied: what is remembered may be wrong; what was taken comes back with the shards
      return true;
    }
    for (const [shard, texts] of taken) {
      const work = this.#workShard(shard, texts, this.#term).finally(() => {
        this.#busy.delete(shard);
        this.#wake();
      });
      this.#busy.set(shard, work);
    }
    return taken.size > 0 && taken.size < hands;
  }

  async #workShard(shard: number, texts: readonly string[], term: number): Promise<void> {
    try {
      const jobs = texts.flatMap((text) => this.#decode(text));
      const conversations = Map.groupBy(jobs, (job) => `${job.tenant}:${job.conversationId.toString()}`);
      await Promise.all([...conversations.values()].map((ofOne) => this.#workConversation(shard, ofOne, term)));
      await this.#deps.owner.remove(shard, texts);
    } catch (error) {
      if (!(error instanceof Fenced)) this.#deps.log.warn({ error: error as Error, shard }, 'shard given up');
      this.#endTerm();
    }
  }

  async #workConversation(shard: number, jobs: readonly DeliverJob[], term: number): Promise<void> {
    for (const run of runsOf(jobs)) {
      const started = performance.now();
      await this.#untilDelivered(shard, run, term);
      this.#deps.metrics.jobSeconds((performance.now() - started) / 1_000);
      for (const job of run) this.emit('delivered', job);
    }
  }

  async #untilDelivered(shard: number, run: Run, term: number): Promise<void> {
    const [first] = run;
    const delivery = this.#deps.tenants.get(first.tenant);
    if (delivery === undefined) {
      this.#deps.log.error({ tenant: first.tenant }, 'a job of a tenant that is not declared is dropped');
      return;
    }
    for (let wait = FIRST_BACKOFF_MS; ; wait = Math.min(wait * 2, LAST_BACKOFF_MS)) {
      if (term !== this.#term) throw new Fenced('the term ended');
      try {
        await delivery.deliverRun({ shard, lease: this.#deps.owner.lease }, run);
        return;
      } catch (error) {
        if (error instanceof Fenced || !this.#isRunning) throw error;
        const ids = { conversation_id: first.conversationId.toString(), msg_id: first.changeId.toString() };
        this.#deps.log.warn({ ...ids, error: error as Error, wait_ms: wait }, 'delivery is tried again');
        await pause(wait);
      }
    }
  }

  #decode(text: string): DeliverJob[] {
    try {
      return [decodeJob(text)];
    } catch (error) {
      this.#deps.log.error({ error: error as Error, bytes: text.length }, 'an unreadable job is dropped');
      return [];
    }
  }

  /** Waits for wake tokens and passes them on. */
  async #listen(): Promise<void> {
    const key = `${this.#deps.base}wake:deliver:${this.#deps.owner.processId}`;
    while (this.#isRunning) {
      try {
        if ((await this.#deps.waiting.blpop(key, this.#settings.takeTimeoutMs / 1_000)) !== null) this.#wake();
      } catch {
        await pause(FIRST_BACKOFF_MS * 4);
      }
    }
  }

  /** Renews the leases and takes shards that became free. */
  async #keepLeases(): Promise<void> {
    const { owner, log } = this.#deps;
    try {
      const lost = await owner.renew();
      if (lost.length > 0) this.#endTerm();
      const free = allShards().filter((shard) => !owner.held.has(shard));
      if (free.length > 0 && (await owner.acquire(free)).length > 0) this.#wake();
    } catch (error) {
      log.debug({ error: error as Error }, 'leases not renewed');
      this.#endTerm();
    }
  }

  #endTerm(): void {
    this.#term += 1;
    this.#deps.owner.drop();
    for (const delivery of this.#deps.tenants.values()) delivery.drop();
    this.#wake();
  }

  #wake(): void {
    this.#isAwake = true;
    this.emit('wake');
  }

  /** Until a token came, a shard became free, or a second passed: the net for a token that was lost. */
  async #sleep(): Promise<void> {
    if (!this.#isAwake) await this.#sleepAtMost(1_000);
  }

  async #sleepAtMost(ms: number): Promise<void> {
    const ended = new AbortController();
    try {
      await Promise.race([once(this, 'wake', { signal: ended.signal }), pause(ms, undefined, { signal: ended.signal })]);
    } finally {
      ended.abort();
    }
  }
}

function allShards(): number[] {
  return Array.from({ length: SHARDS }, (_, shard) => shard);
}

type Run = readonly [DeliverJob, ...DeliverJob[]];

/** Messages that follow each other in the chain, together; every other job alone. */
function runsOf(jobs: readonly DeliverJob[]): readonly Run[] {
  const runs: [DeliverJob, ...DeliverJob[]][] = [];
  for (const job of jobs) {
    const run = runs.at(-1);
    const before = run?.at(-1);
    if (run !== undefined && before !== undefined && isNext(before, job)) run.push(job);
    else runs.push([job]);
  }
  return runs;
}

function isNext(before: DeliverJob, job: DeliverJob): boolean {
  const isMessage = ({ kind, data }: DeliverJob): boolean => kind === CHANGE_KINDS.MESSAGE && data !== '';
  return isMessage(before) && isMessage(job) && job.prevChangeId === before.changeId;
}
