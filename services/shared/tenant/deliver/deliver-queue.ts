import { crc32 } from 'node:zlib';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { encodeJob } from './deliver-job.ts';
import type { DeliverJob } from './deliver-job.ts';
import { QUEUE_SCRIPTS } from './scripts.ts';

/** Fixed for ever: a job must be found where it was put, whatever the number of workers. */
export const SHARDS = 64;

/** All jobs of a conversation are in one shard, so one owner handles them in order. */
export function shardOf(tenant: string, conversationId: bigint): number {
  return crc32(`${tenant}:${conversationId.toString()}`) % SHARDS;
}

/** The producer's end of the delivery queue (FIFO lists, one a shard). */
export class DeliverQueue {
  readonly #redis: Redis;
  readonly #base: string;

  constructor(redis: Redis, base = '') {
    this.#redis = redis;
    this.#base = base;
  }

  /**
   * Puts all jobs in one call, in order, and wakes the owners of their shards. The same job twice does no harm.
   *
   * @throws when Redis refused or did not answer; then nobody may be told that the message is on its way (C5)
   */
  async enqueue(jobs: readonly DeliverJob[]): Promise<void> {
    const args = jobs.flatMap((job) => [shardOf(job.tenant, job.conversationId), encodeJob(job)]);
    await QUEUE_SCRIPTS.enqueue.run(this.#redis, [], [this.#base, '', ...args]);
  }

  /** Which of these shards have jobs that wait or are being worked on. */
  async busyShards(shards: readonly number[]): Promise<ReadonlySet<number>> {
    const asked = [...new Set(shards)];
    const answer = (await QUEUE_SCRIPTS.busy.run(this.#redis, [], [this.#base, '', ...asked])) as string[];
    return new Set(answer.map(Number));
  }
}
