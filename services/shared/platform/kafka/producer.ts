import type { Producer } from 'kafkajs';
import type { Part } from '../lifecycle/lifecycle.ts';
import type { KafkaClient } from './client.ts';
import { classifySendError, SendError } from './errors.ts';
import { HEADERS, signatureHeaders } from './signature.ts';
import type { Signer } from './signature.ts';
import { traceparent } from './traceparent.ts';

export interface OutRecord {
  readonly topic: string;
  /** Records of one key go to one partition and keep their order. */
  readonly key: string;
  readonly value: Buffer;
  readonly traceId: string;
}

const ALL_REPLICAS = -1;

/**
 * Sends signed records and knows whether the cluster took them. One request in flight: two would change places when the first is sent
 * again. Starting does not wait for the cluster; a send connects when there is no connection.
 */
export class KafkaProducer implements Part {
  readonly name = 'kafka producer';
  readonly #kafka: KafkaClient;
  readonly #signer: Signer;
  #producer: Producer | undefined;
  #connecting: Promise<Producer> | undefined;
  #isReachable = false;

  constructor(kafka: KafkaClient, signer: Signer) {
    this.#kafka = kafka;
    this.#signer = signer;
  }

  start(): Promise<void> {
    this.#connect().catch(() => undefined); // A send tries again and reports.
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    const producer = this.#producer ?? (await this.#connecting?.catch(() => undefined));
    this.#producer = undefined;
    this.#isReachable = false;
    await producer?.disconnect();
  }

  /** Whether the last send or connection attempt reached the cluster. */
  get isReachable(): boolean {
    return this.#isReachable;
  }

  /**
   * Resolves when every in-sync replica has all records; then their order per key is that of `records`.
   *
   * @throws {SendError} and then any of the records may have arrived all the same
   */
  async send(records: readonly OutRecord[]): Promise<void> {
    if (records.length === 0) return;
    try {
      const producer = await this.#connect();
      const topicMessages = [...Map.groupBy(records, ({ topic }) => topic)].map(([topic, group]) => ({
        topic,
        messages: group.map((record) => this.#message(record)),
      }));
      await producer.sendBatch({ acks: ALL_REPLICAS, topicMessages });
      this.#isReachable = true;
    } catch (error) {
      const fault = classifySendError(error);
      this.#isReachable = fault !== 'unreachable';
      if (!this.#isReachable) this.#discard();
      throw new SendError(fault, error instanceof Error ? error.message : 'send failed', { cause: error });
    }
  }

  #message({ key, value, traceId }: OutRecord) {
    return { key, value, headers: { ...signatureHeaders(this.#signer, value), [HEADERS.TRACEPARENT]: traceparent(traceId) } };
  }

  async #connect(): Promise<Producer> {
    if (this.#producer !== undefined) return this.#producer;
    this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /**
   * The next send begins with a new connection. kafkajs takes a broker that accepted a connection and then hung for connected, and from
   * then on refuses every record with "Broker not connected", also when the broker has long been back.
   */
  #discard(): void {
    const producer = this.#producer;
    this.#producer = undefined;
    producer?.disconnect().catch(() => undefined);
  }

  async #open(): Promise<Producer> {
    const producer = this.#kafka.producer({ maxInFlightRequests: 1, allowAutoTopicCreation: false, idempotent: false });
    try {
      await producer.connect();
    } catch (error) {
      producer.disconnect().catch(() => undefined); // Half of a connection may be there.
      throw error;
    }
    this.#producer = producer;
    this.#isReachable = true;
    return producer;
  }
}
