import { boolean, duration, integer, list, map, rendered, text } from '../config/setting.ts';

/** Names that begin with "__" are Kafka's own; "." and ".." would be folders. */
const TOPIC_NAME = {
  pattern: /^(?!__)(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}$/,
  description: 'letters, digits, ".", "_" and "-", at most 249, not beginning with "__"',
};
const SERVICE_NAME = { pattern: /^[a-z][a-z0-9-]{0,62}$/, description: 'a service name' };

/** Kafka carries commands and events. Chat itself works without it. */
export const kafkaSection = {
  enabled: boolean('Whether commands and events travel through Kafka. Without it chat goes on, commands of the back office wait.', true),
  brokers: rendered(list('host:port each', text('host:port'))),
  signing_keys: rendered(map('file with the signing key of each service that writes records', SERVICE_NAME, text('path'))),
  topics: list(
    'Topics that differ from the shipped sizes; those not listed keep theirs (4 partitions, 7d; results, audit and dead letters 30d). Partitions count when a topic is made; an existing topic keeps its own.',
    {
      name: text('Name of the topic.', { form: TOPIC_NAME }),
      partitions: integer('How many consumers can share the work. Order holds within a key.', { default: 4, min: 1, max: 64 }),
      retention: duration('How long records are kept.', { default: '7d', min: '1h', max: '3650d' }),
    },
    { default: [] },
  ),
  retry_backoff_ms: list(
    'Waits before the further attempts of an event that failed for a passing reason (ms); the last one repeats.',
    integer('ms', { min: 100, max: 86_400_000 }),
    { default: [10_000, 30_000, 60_000, 300_000, 900_000], minItems: 1, maxItems: 20 },
  ),
  max_retry_count: integer('Attempts after which an event becomes a dead letter.', { default: 5, min: 1, max: 100 }),
};
