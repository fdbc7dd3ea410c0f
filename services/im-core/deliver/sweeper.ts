import { setTimeout as pause } from 'node:timers/promises';
import { CHANGE_KINDS } from '#shared/contract/commands.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import { shardOf } from '#shared/tenant/deliver/deliver-queue.ts';
import type { DeliverQueue } from '#shared/tenant/deliver/deliver-queue.ts';
import type { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import type { Epoch } from '#shared/tenant/deliver/epoch.ts';
import type { ShardOwner } from '#shared/tenant/deliver/shard-owner.ts';
import { changedAfter, readSweepMark, writeSweepMark } from '#shared/tenant/deliver/sweep-store.ts';
import type { Changed } from '#shared/tenant/deliver/sweep-store.ts';

/**
 * Finds conversations whose delivery lags behind MySQL and enqueues one repair for each: a message that was committed and never queued
 * arrives within seconds, and a Redis that was emptied is filled again, bounded batch by bounded batch, while traffic goes on.
 *
 * It walks conversations in the order of their last change from a low-water mark that is kept in MySQL together with the epoch it was
 * made in; a new epoch starts at the beginning. The mark passes only what was seen in step, and stays behind now by more than the longest
 * transaction, because a change is stamped before it commits. The process that owns shard 0 sweeps.
 */
export interface SweeperDeps {
  readonly tenant: string;
  readonly db: Database;
  readonly lists: DialogLists;
  readonly epoch: Epoch;
  readonly queue: DeliverQueue;
  readonly owner: ShardOwner;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SweepSettings {
  /** Pause between two walks (ms). */
  readonly everyMs: number;
  /** Changes younger than this are left to their own jobs (ms). */
  readonly youngMs: number;
  /** How far the mark stays behind now (ms): above the longest transaction. */
  readonly trailMs: number;
}

export const SWEEP_SETTINGS: SweepSettings = { everyMs: 3_000, youngMs: 1_000, trailMs: 60_000 };

/** Conversations looked at in one step. */
const BATCH = 500;
/** Repairs enqueued in one walk at most; the next walk goes on. */
const MAX_REPAIRS = 500;

/** What a walk found. */
export interface Swept {
  readonly seen: number;
  readonly repairs: number;
}

export class Sweeper implements Part {
  readonly name = 'sweeper';
  readonly #deps: SweeperDeps;
  readonly #settings: SweepSettings;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: SweeperDeps, settings: SweepSettings = SWEEP_SETTINGS) {
    this.#deps = deps;
    this.#settings = settings;
  }

  start(): Promise<void> {
    this.#loop = this.#run();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        if (this.#deps.owner.held.has(0)) await this.sweep();
      } catch (error) {
        this.#deps.log.debug({ tenant: this.#deps.tenant, error: error as Error }, 'a sweep broke off');
      }
      await pause(this.#settings.everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One walk from the mark to now. */
  async sweep(): Promise<Swept> {
    const { db, clock, tenant, log } = this.#deps;
    const epoch = await this.#deps.epoch.current();
    const stored = await readSweepMark(db);
    const begin = stored.epoch === epoch ? stored.at : new Date(0);
    const now = clock.nowMs();
    const walk = { until: now - this.#settings.youngMs, firstLagging: undefined as Date | undefined, seen: 0, repairs: 0 };
    for (let at = begin, id = -1n; walk.repairs < MAX_REPAIRS;) {
      const batch = await changedAfter(db, at, id, BATCH);
      const old = batch.filter(({ changedAt }) => changedAt.getTime() <= walk.until);
      await this.#repair(old, epoch, walk);
      const last = old.at(-1);
      if (last === undefined || old.length < BATCH) break;
      [at, id] = [last.changedAt, last.conversationId];
    }
    const trail = now - this.#settings.trailMs;
    // One millisecond before what lags: its neighbours of the same millisecond are looked at again.
    const reached = Math.min(trail, walk.firstLagging === undefined ? trail : walk.firstLagging.getTime() - 1);
    if (epoch === this.#deps.epoch.known) await writeSweepMark(db, { epoch, at: new Date(Math.max(reached, begin.getTime())) });
    if (walk.repairs > 0) log.info({ tenant, repairs: walk.repairs, seen: walk.seen }, 'conversations that lagged are delivered again');
    return { seen: walk.seen, repairs: walk.repairs };
  }

  async #repair(
    batch: readonly Changed[],
    epoch: string,
    walk: { firstLagging: Date | undefined; seen: number; repairs: number },
  ): Promise<void> {
    const { lists, queue, tenant } = this.#deps;
    walk.seen += batch.length;
    const states = await lists.manyMarks(batch.map(({ conversationId }) => conversationId));
    const lagging = batch.filter(({ head }, n) => {
      const marks = states[n];
      if (head === 0n) return false; // nothing was ever said here
      return marks?.epoch !== epoch || marks.last === undefined || marks.handed === undefined || marks.last < head || marks.handed < head;
    });
    if (lagging.length === 0) return;
    walk.firstLagging ??= lagging[0]?.changedAt;
    const busy = await queue.busyShards(lagging.map(({ conversationId }) => shardOf(tenant, conversationId)));
    const repairs = lagging.filter(({ conversationId }) => !busy.has(shardOf(tenant, conversationId)));
    if (repairs.length > 0) await queue.enqueue(repairs.slice(0, MAX_REPAIRS).map((changed) => repairJob(tenant, changed)));
    walk.repairs += repairs.length;
  }
}

/** Only the ids: everything else is read when the job's turn comes. */
function repairJob(tenant: string, { conversationId, head }: Changed): DeliverJob {
  const nobody = { actorId: 0n, excludeDevice: 0n, notPush: true };
  return { tenant, conversationId, changeId: head, prevChangeId: 0n, kind: CHANGE_KINDS.MESSAGE, ...nobody, data: '' };
}
