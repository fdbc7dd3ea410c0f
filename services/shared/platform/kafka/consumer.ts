import type { Consumer, EachBatchPayload, IHeaders, KafkaMessage } from 'kafkajs';
import type { Part } from '../lifecycle/lifecycle.ts';
import type { Log } from '../log/log.ts';
import type { KafkaClient } from './client.ts';
import { Heartbeat } from './heartbeat.ts';
import { runLanes } from './lanes.ts';
import { PartitionRetries } from './partition-retries.ts';
import { verify } from './signature.ts';
import type { SignatureFault, Trust } from './signature.ts';
import { Watermark } from './watermark.ts';

export interface InRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  /** First value of each header, as text. */
  readonly headers: ReadonlyMap<string, string>;
  /** Why the record is not believed; undefined = signed by a producer of that topic. */
  readonly fault: SignatureFault | undefined;
  /** How often its handling failed before, in this process. */
  readonly attempt: number;
}

/** Resolves when the record is finished for good, rejects when it must be handled again later. It is called again for redeliveries. */
export type RecordHandler = (record: InRecord) => Promise<void>;

export interface ConsumerSettings {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** Delays before a record is tried again that failed by its own fault; the last one repeats. @see X-20 */
  readonly retryBackoffMs: readonly number[];
  /** Keys of one partition that are worked on at the same time. Default 8. */
  readonly lanes?: number;
  /** Without a sign of the cluster for this long the consumer is not healthy. Default 30,000 ms. */
  readonly silentMs?: number;
  /** Default 10,000 ms. The partitions of a process that was killed wait so long for another one. */
  readonly sessionTimeoutMs?: number;
}

export interface ConsumerDeps {
  readonly kafka: KafkaClient;
  readonly trust: Trust;
  readonly log: Log;
  readonly handle: RecordHandler;
  /** Whether a record failed because something it needs is away: then no attempt counts, and it comes again as soon as that is back. */
  readonly isOutage: (error: unknown) => boolean;
}

const RECONNECT_MS = { first: 250, most: 2_000 } as const;
const PARTITIONS_AT_ONCE = 4;

/**
 * One member of a consumer group. The offset follows the lowest unfinished record, after its handling; a failed record pauses its
 * partition, which is tried again from there after a delay, so nothing is passed over and no order is lost.
 *
 * kafkajs ends for good on errors it calls unrecoverable, a handler's TypeError among them. So nothing of ours is ever thrown into it,
 * and when it ends all the same a new one is made.
 */
export class KafkaConsumer implements Part {
  readonly name: string;
  readonly #deps: ConsumerDeps;
  readonly #settings: Required<ConsumerSettings>;
  readonly #stopping = Promise.withResolvers<undefined>();
  readonly #retries: PartitionRetries;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();
  #lastSignMs = 0;
  /** Records that are known and not finished, by `topic/partition`. */
  readonly #behind = new Map<string, number>();

  constructor(deps: ConsumerDeps, settings: ConsumerSettings) {
    this.#deps = deps;
    this.#settings = { lanes: 8, silentMs: 30_000, sessionTimeoutMs: 10_000, ...settings };
    this.#retries = new PartitionRetries(settings.retryBackoffMs);
    this.name = `kafka consumer ${settings.groupId}`;
  }

  /** Returns at once; the cluster may come later. */
  start(): Promise<void> {
    this.#running = this.#keepRunning();
    return Promise.resolve();
  }

  /** Finishes the records in hand, commits and leaves the group. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopping.resolve(undefined);
    await this.#running;
    this.#retries.clear();
  }

  /** Whether the cluster was heard lately. A consumer that kafkajs calls running may have no broker for hours. */
  healthy(): boolean {
    return Date.now() - this.#lastSignMs < this.#settings.silentMs;
  }

  /** Records that the cluster told of and that are not finished yet, in the partitions of this process; as of the last fetch. */
  get lag(): number {
    return [...this.#behind.values()].reduce((sum, records) => sum + records, 0);
  }

  async #keepRunning(): Promise<void> {
    for (let delayMs: number = RECONNECT_MS.first; !this.#isStopping; delayMs = Math.min(delayMs * 2, RECONNECT_MS.most)) {
      const startedMs = Date.now();
      try {
        await this.#session();
      } catch (error) {
        this.#deps.log.warn({ part: this.name, error: asError(error) }, 'kafka is away');
      }
      if (this.#lastSignMs > startedMs) delayMs = RECONNECT_MS.first;
      await Promise.race([this.#stopping.promise, delay(delayMs)]);
    }
  }

  /** One kafkajs consumer from joining to its end. */
  async #session(): Promise<void> {
    const { groupId, topics, sessionTimeoutMs } = this.#settings;
    const consumer = this.#deps.kafka.consumer({
      groupId,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: sessionTimeoutMs / 10,
      maxWaitTimeInMs: 500, // Bounds how long stop() waits for the fetch in flight; records that arrive end the wait.
      allowAutoTopicCreation: false,
      retry: { retries: 3, initialRetryTime: 100, maxRetryTime: 1_000, restartOnFailure: () => Promise.resolve(false) },
    });
    const crashed = this.#watch(consumer);
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...topics], fromBeginning: true });
      await consumer.run({
        eachBatchAutoResolve: false,
        autoCommit: true,
        autoCommitInterval: 1_000,
        partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
        eachBatch: (payload) => this.#batch(payload),
      });
      await Promise.race([crashed, this.#stopping.promise]);
    } finally {
      this.#retries.clear();
      await consumer.disconnect().catch(() => undefined);
    }
  }

  /** @returns a promise that rejects when kafkajs gave up */
  #watch(consumer: Consumer): Promise<never> {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // Joining may fail first and then nobody waits for this one.
    const sign = (): void => void (this.#lastSignMs = Date.now());
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      sign();
      this.#behind.clear(); // other partitions from now on
      this.#deps.log.info({ part: this.name, assignment: JSON.stringify(payload.memberAssignment) }, 'joined the group');
    });
    consumer.on(consumer.events.FETCH, sign);
    consumer.on(consumer.events.HEARTBEAT, sign);
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    return promise;
  }

  /** Only kafkajs's own errors (a rebalance told by a heartbeat) leave this; it knows what to do with them. */
  async #batch(payload: EachBatchPayload): Promise<void> {
    const { topic, partition, messages, highWatermark } = payload.batch;
    const place = `${topic}/${partition}`;
    const watermark = new Watermark(messages.map(({ offset }) => offset));
    const heartbeat = new Heartbeat(payload, this.#settings.sessionTimeoutMs / 6);
    const failures: ('outage' | 'failed')[] = [];
    const work = async (message: KafkaMessage): Promise<boolean> => {
      if (!payload.isRunning() || payload.isStale() || heartbeat.hasFailed || failures.includes('outage')) return false;
      this.#behind.set(place, behind(highWatermark, watermark.lowestUnfinished));
      const outcome = await this.#one(topic, partition, message);
      if (outcome !== 'finished') {
        failures.push(outcome);
        return false;
      }
      const done = watermark.finish(message.offset);
      if (done !== undefined) payload.resolveOffset(done);
      return true;
    };
    await runLanes(messages, laneOf, this.#settings.lanes, work);
    this.#behind.set(place, behind(highWatermark, watermark.lowestUnfinished ?? after(messages.at(-1)?.offset)));
    const isOutage = failures.every((failure) => failure === 'outage');
    if (failures.length > 0) this.#retries.pause(payload, watermark.lowestUnfinished, isOutage);
    heartbeat.end();
  }

  async #one(topic: string, partition: number, message: KafkaMessage): Promise<'finished' | 'outage' | 'failed'> {
    const attempt = this.#retries.attempts(topic, partition, message.offset);
    try {
      await this.#deps.handle(this.#record(topic, partition, message, attempt));
      this.#retries.finished(topic, partition, message.offset);
      return 'finished';
    } catch (error) {
      const isOutage = this.#deps.isOutage(error);
      if (!isOutage) this.#retries.failed(topic, partition, message.offset);
      const fields = { part: this.name, topic, partition, offset: message.offset, attempt, error: asError(error) };
      this.#deps.log.warn(fields, 'a record could not be handled and is tried again');
      return isOutage ? 'outage' : 'failed';
    }
  }

  #record(topic: string, partition: number, { offset, key, value, headers }: KafkaMessage, attempt: number): InRecord {
    const read = { topic, value, headers: firstValues(headers) };
    return { ...read, partition, offset: BigInt(offset), key, attempt, fault: verify(this.#deps.trust, read) };
  }
}

/** From the first unfinished offset to the end of the partition; without one the fetch was empty. */
function behind(highWatermark: string, unfinished: string | undefined): number {
  return unfinished === undefined ? 0 : Math.max(Number(BigInt(highWatermark) - BigInt(unfinished)), 0);
}

function after(offset: string | undefined): string | undefined {
  return offset === undefined ? undefined : (BigInt(offset) + 1n).toString();
}

/** Records without a key have no order among each other. */
function laneOf({ key, offset }: KafkaMessage): string {
  return key === null ? `#${offset}` : `k${key.toString('latin1')}`;
}

function firstValues(headers: IHeaders | undefined): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(headers ?? {})) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) values.set(name, first.toString());
  }
  return values;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
