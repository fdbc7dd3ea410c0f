import type { Metrics } from '../metrics/metrics.ts';
import type { KafkaConsumer } from './consumer.ts';

/** Shows how far a consumer is behind. @returns the same for readiness and `status`; empty where there is no consumer */
export function watchLag(metrics: Metrics, consumer: KafkaConsumer | undefined): () => Readonly<Record<string, number>> {
  if (consumer === undefined) return () => ({});
  const help = 'Records that the cluster told of and that this process has not finished.';
  metrics.watch('kafka_consumer_lag', help, ['consumer'], () => {
    return Promise.resolve([{ labels: { consumer: consumer.name }, value: consumer.lag }]);
  });
  return () => ({ consumer_lag: consumer.lag });
}
