import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import { remember } from '#shared/platform/metrics/remember.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { queueDepth } from '#shared/tenant/deliver/queue-depth.ts';

/** Shows how full the delivery queue is. @returns the same for readiness and `status`; empty while Redis is away. @see OBS-06 */
export function watchQueue(metrics: Metrics, redis: Redis, processId: string): () => Promise<Readonly<Record<string, number>>> {
  const read = remember(() => queueDepth(redis, processId), 1_000);
  metrics.watch('deliver_queue_depth', 'Jobs that wait in the delivery queue, all shards.', [], async () => [
    { value: (await read()).waiting },
  ]);
  metrics.watch('deliver_processing_depth', 'Jobs that this process has taken and not finished.', [], async () => [
    { value: (await read()).processing },
  ]);
  return async () => {
    const depth = await read().catch(() => undefined);
    return depth === undefined ? {} : { deliver_waiting: depth.waiting, deliver_processing: depth.processing };
  };
}
