import { randomBytes } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import type { ITopicConfig } from 'kafkajs';
import { testServers } from './servers.ts';

export interface FreshTopics {
  /** Put in front of every topic and consumer group of the test. */
  readonly prefix: string;
  readonly brokers: readonly string[];
  /** A plain client for the test itself. */
  readonly kafka: Kafka;
  /** The full name of one of the topics. */
  topic(name: string): string;
  /** Deletes the topics. Stop consumers before. */
  remove(): Promise<void>;
}

/** Topics of this test alone, made and led. Remove them in `after`. */
export async function freshTopics(
  names: readonly string[],
  partitions = 1,
  brokers: readonly string[] = testServers().kafka.brokers,
): Promise<FreshTopics> {
  const prefix = `t${randomBytes(5).toString('hex')}.`;
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const topics: ITopicConfig[] = names.map((name) => ({ topic: `${prefix}${name}`, numPartitions: partitions, replicationFactor: 1 }));
  const asAdministrator = async (work: (admin: ReturnType<Kafka['admin']>) => Promise<unknown>): Promise<void> => {
    const admin = kafka.admin();
    await admin.connect();
    try {
      await work(admin);
    } finally {
      await admin.disconnect();
    }
  };
  await asAdministrator((admin) => admin.createTopics({ topics, waitForLeaders: true }));
  return {
    prefix,
    brokers,
    kafka,
    topic: (name) => `${prefix}${name}`,
    remove: () => asAdministrator((admin) => admin.deleteTopics({ topics: topics.map(({ topic }) => topic) })),
  };
}
