import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { WriterDeps } from '#shared/tenant/message/message-writer.ts';

/** The figures of storing messages, for all tenants together. @see OBS-05 */
export function storeMetrics(metrics: Metrics): { readonly onBatch: NonNullable<WriterDeps['onBatch']>; readonly onRepeat: () => void } {
  const stored = metrics.counter('message_send_stored_total', 'Messages stored.');
  const repeated = metrics.counter('message_send_repeated_total', 'Sends that were answered with a message stored before.');
  const persist = metrics.histogram('persist_latency', 'Seconds a batch of messages took in MySQL.');
  const enqueued = metrics.histogram('enqueue_latency', 'Seconds a batch of jobs took into the delivery queue.');
  return {
    onBatch: (batch) => {
      stored.inc(batch.stored);
      persist.observe(batch.persistSeconds);
      enqueued.observe(batch.enqueueSeconds);
    },
    onRepeat: () => repeated.inc(),
  };
}
