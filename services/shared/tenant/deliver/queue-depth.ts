import type { Redis } from '#shared/platform/redis/redis.ts';
import { SHARDS } from './deliver-queue.ts';

/** Jobs of the delivery queue, all shards together. */
export interface QueueDepth {
  /** Nobody has taken them yet. */
  readonly waiting: number;
  /** This process has taken them and not finished. */
  readonly processing: number;
}

/** @param base put in front of keys; empty in production. @throws when Redis is away. @see OBS-06 */
export async function queueDepth(redis: Redis, processId: string, base = ''): Promise<QueueDepth> {
  const shards = Array.from({ length: SHARDS }, (_, shard) => shard);
  const batch = redis.pipeline();
  for (const shard of shards) batch.llen(`${base}deliver:queue:${shard}`).llen(`${base}deliver:processing:${shard}:${processId}`);
  const lengths = ((await batch.exec()) ?? []).map(([error, length]) => {
    if (error !== null) throw error;
    return Number(length);
  });
  const sum = (odd: number): number => lengths.reduce((total, length, index) => (index % 2 === odd ? total + length : total), 0);
  return { waiting: sum(0), processing: sum(1) };
}
