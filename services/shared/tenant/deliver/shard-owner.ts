import { randomBytes } from 'node:crypto';
import type { Redis } from '#shared/platform/redis/redis.ts';
import type { Epoch } from './epoch.ts';
import { QUEUE_SCRIPTS } from './scripts.ts';

/** What a lease is good for without renewal (ms). */
export const LEASE_MS = 10_000;

/** Thrown when a script found that this process does not own the shard (any more), or that the epoch changed. */
export class Fenced extends Error {
  override readonly name = 'Fenced';
}

/**
 * This process's hold on shards of the delivery queue. One random token a term; every effect compares it. A term ends with the connection:
 * afterwards nothing that was kept in memory counts, and the shards are taken anew.
 */
export class ShardOwner {
  readonly processId: string;
  readonly #redis: Redis;
  readonly #epoch: Epoch;
  readonly #base: string;
  #lease = '';
  #held = new Set<number>();

  constructor(redis: Redis, epoch: Epoch, processId: string, base = '') {
    this.#redis = redis;
    this.#epoch = epoch;
    this.processId = processId;
    this.#base = base;
  }

  /** What scripts compare: `<process>|<token>`. */
  get lease(): string {
    return this.#lease;
  }

  get held(): ReadonlySet<number> {
    return this.#held;
  }

  /** Takes every given shard that is free, under a new token; unfinished jobs of earlier owners go back to the head of their queue. */
  async acquire(shards: readonly number[]): Promise<readonly number[]> {
    const epoch = await this.#epoch.current();
    if (this.#lease === '') this.#lease = `${this.processId}|${randomBytes(8).toString('hex')}`;
    const args = [this.#base, epoch, this.processId, this.#lease, LEASE_MS, ...shards];
    const gained = ((await this.#run('acquire', args)) as string[]).map(Number);
    for (const shard of gained) this.#held.add(shard);
    return gained;
  }

  /** Renews all; what is lost is forgotten. @returns the shards lost */
  async renew(): Promise<readonly number[]> {
    if (this.#held.size === 0) return [];
    const lost = ((await this.#run('renew', [this.#base, this.#epoch.known, this.#lease, LEASE_MS, ...this.#held])) as string[]).map(
      Number,
    );
    for (const shard of lost) this.#held.delete(shard);
    return lost;
  }

  /** Takes up to `limit.jobs` jobs of each of up to `limit.shards` shards, oldest first. Shards that turned out not to be ours are forgotten. */
  async take(
    shards: readonly number[],
    limit: { readonly jobs: number; readonly shards: number },
  ): Promise<ReadonlyMap<number, readonly string[]>> {
    const args = [this.#base, this.#epoch.known, this.processId, this.#lease, limit.jobs, limit.shards, ...shards];
    const taken = (await this.#run('take', args)) as [string, ...(string | null)[]][];
    const jobs = new Map<number, readonly string[]>();
    for (const [shard, ...texts] of taken) {
      if (texts[0] === null) this.#held.delete(Number(shard));
      else jobs.set(Number(shard), texts as string[]);
    }
    return jobs;
  }

  /** Finished jobs leave the processing list. @throws {Fenced} */
  async remove(shard: number, jobs: readonly string[]): Promise<void> {
    const answer = await this.#run('remove', [this.#base, this.#epoch.known, this.processId, this.#lease, shard, ...jobs]);
    if (answer !== 'OK') throw new Fenced(`shard ${String(shard)}`);
  }

  /** Gives all shards back at once, so that another process need not wait for the leases to run out. */
  async release(): Promise<void> {
    if (this.#held.size > 0) await this.#run('renew', [this.#base, this.#epoch.known, this.#lease, 1, ...this.#held]);
    this.drop();
  }

  /** The end of a term: connection lost, fenced, or the process stops. */
  drop(): void {
    this.#lease = '';
    this.#held = new Set();
    this.#epoch.forget();
  }

  async #run(name: keyof typeof QUEUE_SCRIPTS, args: readonly (string | number)[]): Promise<unknown> {
    try {
      return await QUEUE_SCRIPTS[name].run(this.#redis, [], args);
    } catch (error) {
      if (error instanceof Error && error.message === 'EPOCH') throw new Fenced('the epoch changed', { cause: error });
      throw error;
    }
  }
}
