import kafkajs from 'kafkajs';
import type { Admin } from 'kafkajs';
import { openKafka } from './client.ts';

export interface TopicSettings {
  readonly name: string;
  readonly partitions: number;
  readonly retentionMs: number;
}

export interface EnsureTopicsDeps {
  /** `host:port` each. */
  readonly brokers: readonly string[];
  /** Told what is waited for. */
  readonly progress?: (line: string) => void;
}

export interface EnsureTopicsSettings {
  /** Copies of each partition; 1 on a single broker. Default 1. */
  readonly replicas?: number;
  /** A cluster that has just started may not know its controller yet; tried until then. Default 60,000 ms. */
  readonly deadlineMs?: number;
}

/**
 * Makes the topics that are missing and sets retention on those that exist. Partitions are only ever added, never taken away: keys
 * would change their partition and with it their order, so adding is left to the operator.
 *
 * @returns names that were created
 * @throws the last error when the cluster did not take them before the deadline
 */
export async function ensureTopics(
  { brokers, progress }: EnsureTopicsDeps,
  topics: readonly TopicSettings[],
  { replicas = 1, deadlineMs = 60_000 }: EnsureTopicsSettings = {},
): Promise<readonly string[]> {
  const kafka = openKafka({ brokers, clientId: 'im-topics' });
  const deadline = Date.now() + deadlineMs;
  for (;;) {
    const admin = kafka.admin();
    try {
      await admin.connect();
      return await createMissing(admin, topics, replicas);
    } catch (error) {
      if (Date.now() >= deadline) throw error;
      progress?.(`Kafka does not take topics yet: ${error instanceof Error ? error.message : 'unknown error'}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }
}

async function createMissing(admin: Admin, topics: readonly TopicSettings[], replicas: number): Promise<readonly string[]> {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter(({ name }) => !existing.has(name));
  if (missing.length > 0) {
    await admin.createTopics({
      waitForLeaders: true,
      topics: missing.map(({ name, partitions, retentionMs }) => ({
        topic: name,
        numPartitions: partitions,
        replicationFactor: replicas,
        configEntries: entries(retentionMs),
      })),
    });
  }
  await setRetention(
    admin,
    topics.filter(({ name }) => existing.has(name)),
  );
  return missing.map(({ name }) => name);
}

async function setRetention(admin: Admin, topics: readonly TopicSettings[]): Promise<void> {
  if (topics.length === 0) return;
  await admin.alterConfigs({
    validateOnly: false,
    resources: topics.map(({ name, retentionMs }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configEntries: entries(retentionMs),
    })),
  });
}

/** Compression stays the producer's: kafkajs reads gzip and plain batches only, and a broker that recompresses would stop it for good. */
function entries(retentionMs: number): { name: string; value: string }[] {
  return [
    { name: 'retention.ms', value: retentionMs.toString() },
    { name: 'compression.type', value: 'producer' },
  ];
}
