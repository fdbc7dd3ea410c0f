import kafkajs from 'kafkajs';
import type { Kafka as KafkaClient, LogEntry } from 'kafkajs';
import type { Log } from '../log/log.ts';
import { quietRequestQueue } from './quiet-request-queue.ts';

// kafkajs is CommonJS: its enums are properties of the default export.
const { Kafka, logLevel } = kafkajs;

export interface KafkaSettings {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Shows in the broker's logs and quotas. */
  readonly clientId: string;
  readonly log?: Log;
  /** A request without an answer after this is failed, its effect unknown. Default 10,000 ms. */
  readonly requestTimeoutMs?: number;
}

export type { KafkaClient };

/** Describes the cluster; connects nowhere. kafkajs's own lines go to our log, its connection noise at debug level. */
export function openKafka({ brokers, clientId, log, requestTimeoutMs = 10_000 }: KafkaSettings): KafkaClient {
  quietRequestQueue();
  return new Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: 2_000,
    requestTimeout: requestTimeoutMs,
    enforceRequestTimeout: true,
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => forward(log, entry),
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1_000 },
  });
}

/** What matters to us arrives as an error or an event as well, so these lines only help whoever looks for more. */
function forward(log: Log | undefined, { namespace, log: line }: LogEntry): void {
  log?.debug({ part: `kafkajs ${namespace}` }, line.message);
}
