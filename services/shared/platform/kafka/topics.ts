import { setTimeout as pause } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import type { Admin } from 'kafkajs';

const { ConfigResourceTypes, Kafka, logLevel } = kafkajs; // CommonJS: Node sees only some of its names

export interface TopicSettings {
  readonly name: string;
  /** Raised when the topic has fewer; never lowered, because keys would change their partition's history. */
  readonly partitions: number;
  /** How long records are kept (ms). */
  readonly retentionMs: number;
}

export interface TopicDeps {
  readonly brokers: readonly string[];
  readonly progress: (line: string) => void;
  /** How long a broker that is not there yet is waited for (ms). Default 120,000. */
  readonly deadlineMs?: number;
}

/** Creates the topics that are missing and brings partitions and retention to the settings. Idempotent; waits for the broker. */
export async function ensureTopics(
  { brokers, progress, deadlineMs = 120_000 }: TopicDeps,
  topics: readonly TopicSettings[],
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const changed = await once(brokers, topics);
      progress(changed === 0 ? 'topics: nothing to change' : `topics: ${changed} created or changed`);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`topics could not be made: ${String(error)}`, { cause: error });
      if (isFirst) progress('topics: waiting for Kafka');
      await pause(500);
    }
  }
}

async function once(brokers: readonly string[], topics: readonly TopicSettings[]): Promise<number> {
  const kafka = new Kafka({
    clientId: 'migrate',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const created = await createMissing(admin, topics);
    const widened = await addPartitions(admin, topics);
    const kept = await setRetention(admin, topics);
    return created + widened + kept;
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

async function createMissing(admin: Admin, topics: readonly TopicSettings[]): Promise<number> {
  const present = new Set(await admin.listTopics());
  const missing = topics.filter(({ name }) => !present.has(name));
  if (missing.length === 0) return 0;
  await admin.createTopics({
    waitForLeaders: true,
    topics: missing.map(({ name, partitions, retentionMs }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor: 1,
      configEntries: [{ name: 'retention.ms', value: retentionMs.toString() }],
    })),
  });
  return missing.length;
}

async function addPartitions(admin: Admin, topics: readonly TopicSettings[]): Promise<number> {
  const { topics: present } = await admin.fetchTopicMetadata({ topics: topics.map(({ name }) => name) });
  const counts = new Map(present.map(({ name, partitions }) => [name, partitions.length]));
  const narrow = topics.filter(({ name, partitions }) => (counts.get(name) ?? partitions) < partitions);
  if (narrow.length === 0) return 0;
  await admin.createPartitions({ topicPartitions: narrow.map(({ name, partitions }) => ({ topic: name, count: partitions })) });
  return narrow.length;
}

async function setRetention(admin: Admin, topics: readonly TopicSettings[]): Promise<number> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map(({ name }) => ({ type: ConfigResourceTypes.TOPIC, name, configNames: ['retention.ms'] })),
  });
  const present = new Map(resources.map(({ resourceName, configEntries }) => [resourceName, configEntries[0]?.configValue]));
  const different = topics.filter(({ name, retentionMs }) => present.get(name) !== retentionMs.toString());
  if (different.length === 0) return 0;
  await admin.alterConfigs({
    validateOnly: false,
    resources: different.map(({ name, retentionMs }) => ({
      type: ConfigResourceTypes.TOPIC,
      name,
      configEntries: [{ name: 'retention.ms', value: retentionMs.toString() }],
    })),
  });
  return different.length;
}
