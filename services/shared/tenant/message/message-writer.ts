import { setTimeout as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import { isDataError, isDuplicateKey, isLockConflict } from '#shared/platform/mysql/database.ts';
import { Lane } from '#shared/platform/mysql/lane.ts';
import type { Statement } from '#shared/platform/mysql/lane.ts';
import type { MysqlLogin } from '#shared/platform/mysql/database.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Log } from '#shared/platform/log/log.ts';
import { CHANGE_KINDS, MESSAGE_STATUS } from '#shared/contract/commands.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import type { NumberedMessage } from './batch-sql.ts';
import { messageData } from './new-message.ts';
import type { NewMessage, Sent } from './new-message.ts';
import { writeBatch } from './write-batch.ts';
import type { Verdict } from './write-batch.ts';

/**
 * Group commit of messages (the only way a message enters t_messages).
 *
 * Two lanes; a conversation always takes the same one. A free lane takes what waits, up to 256 messages and 4 MiB, and commits it as one
 * transaction; meanwhile the next batch gathers, so the size of batches follows the load without a timer. After COMMIT the lane is free
 * again while the jobs go to the delivery queue; only then the senders are answered. If Redis refuses, nobody is answered: the row stays,
 * and the retry with the same client_msg_id finds it, enqueues it again and gets the same id.
 *
 * @see MSG-20 .. MSG-29, INV-08
 */
export interface WriterDeps {
  readonly tenant: string;
  readonly login: MysqlLogin;
  readonly database: string;
  readonly ids: IdGenerator;
  readonly clock: Clock;
  readonly log: Log;
  /** A statement that returns a row while this process may number messages. */
  readonly proof: () => Statement;
  /** Puts jobs into the delivery queue; rejects when Redis did not take them. */
  readonly enqueue: (jobs: readonly DeliverJob[]) => Promise<void>;
  /** Told after each batch: messages stored, seconds in MySQL, seconds in Redis. */
  readonly onBatch?: (batch: { readonly stored: number; readonly persistSeconds: number; readonly enqueueSeconds: number }) => void;
}

export interface WriterLimits {
  readonly lanes: number;
  readonly batchMessages: number;
  readonly batchBytes: number;
  /** Messages that may wait in one lane; the next is refused as BUSY. */
  readonly waiting: number;
  /** How long a message whose conversation is locked elsewhere is put off before it is tried alone, waiting for the lock (ms). */
  readonly patienceMs: number;
}

export const WRITER_LIMITS: WriterLimits = { lanes: 2, batchMessages: 256, batchBytes: 4 * 1024 * 1024, waiting: 4_096, patienceMs: 2_000 };

/** Waits between the tries to enqueue a committed batch (ms). */
const ENQUEUE_RETRY_MS = [50, 100, 200] as const;
/** How often a batch is run again after a deadlock, a lock timeout or a lost connection before its senders hear BUSY. */
const BATCH_TRIES = 3;

interface Waiting {
  message: NewMessage;
  readonly resolve: (sent: Sent) => void;
  readonly reject: (error: unknown) => void;
  /** When it was first put off, by the clock of this machine (ms); 0 = not yet. */
  putOffSinceMs: number;
}

export class MessageWriter {
  readonly #lanes: readonly WriterLane[];

  constructor(deps: WriterDeps, limits: WriterLimits = WRITER_LIMITS) {
    this.#lanes = Array.from({ length: limits.lanes }, () => new WriterLane(deps, limits));
  }

  /**
   * Stores the message once and queues its delivery; the caller may acknowledge when this resolves.
   *
   * @throws {Refusal} why it may not be sent, DUPLICATE (the key was used with other content), BUSY (nothing is known to be stored; retry with the same key)
   */
  async send(message: NewMessage): Promise<Sent> {
    const lane = this.#lanes[laneOf(message.conversationId, this.#lanes.length)];
    if (lane === undefined) throw new Error('no lane');
    return lane.send(message);
  }

  /** Messages that wait for a lane. */
  get depth(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.depth, 0);
  }

  /** Finishes what waits, then closes the connections. */
  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }
}

/** Where a conversation's messages are written. Hashed: the low bits of ids that were made one at a time are all the same. */
export function laneOf(conversationId: bigint, lanes: number): number {
  return crc32(conversationId.toString()) % lanes;
}

class WriterLane {
  readonly #deps: WriterDeps;
  readonly #limits: WriterLimits;
  readonly #lane: Lane;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  readonly #answering = new Set<Promise<void>>();

  constructor(deps: WriterDeps, limits: WriterLimits) {
    this.#deps = deps;
    this.#limits = limits;
    this.#lane = new Lane(deps.login, deps.database);
  }

  get depth(): number {
    return this.#waiting.length;
  }

  send(message: NewMessage): Promise<Sent> {
    if (this.#waiting.length >= this.#limits.waiting) return Promise.reject(new Refusal('BUSY', 'too many messages wait to be stored'));
    const { promise, resolve, reject } = Promise.withResolvers<Sent>();
    this.#waiting.push({ message, resolve, reject, putOffSinceMs: 0 });
    // A turn of the loop later, so that everything that was read from the sockets in this turn joins the batch.
    this.#running ??= new Promise<void>((started) => setImmediate(started)).then(() => this.#run());
    return promise;
  }

  async close(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    await Promise.all(this.#answering);
    await this.#lane.close();
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const { batch, alone } = this.#take();
      const putOff = await this.#write(batch, alone);
      this.#waiting.unshift(...putOff);
      // Everything in reach is locked by somebody else: look again shortly instead of asking MySQL in a circle.
      if (putOff.length === batch.length) await pause(5);
    }
    this.#running = undefined;
  }

  /** The next batch; or what waits for the conversation whose patience is over, alone: the lane waits for its lock once. */
  #take(): { batch: Waiting[]; alone: boolean } {
    const now = Date.now();
    const late = this.#waiting.find(({ putOffSinceMs }) => putOffSinceMs > 0 && now - putOffSinceMs >= this.#limits.patienceMs);
    const alone = late?.message.conversationId;
    const candidates = alone === undefined ? this.#waiting : this.#waiting.filter(({ message }) => message.conversationId === alone);
    const batch = candidates.slice(0, this.#fitting(candidates));
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((waiting) => !taken.has(waiting));
    return { batch, alone: alone !== undefined };
  }

  #fitting(waiting: readonly Waiting[]): number {
    let bytes = 0;
    let count = 0;
    for (const { message } of waiting) {
      bytes += message.content.length + 256;
      if (count >= this.#limits.batchMessages || (count > 0 && bytes > this.#limits.batchBytes)) break;
      count += 1;
    }
    return count;
  }

  /** Settles every message of the batch but those it returns: they belong into the next one. */
  async #write(batch: readonly Waiting[], alone: boolean): Promise<Waiting[]> {
    const started = performance.now();
    let verdicts: readonly Verdict[];
    try {
      verdicts = await this.#writeWithRetries(batch, alone);
    } catch (error) {
      return this.#bisect(batch, error, alone);
    }
    const answering = this.#answer(batch, verdicts, (performance.now() - started) / 1_000);
    this.#answering.add(answering);
    void answering.finally(() => this.#answering.delete(answering));
    const putOff = batch.filter((_, n) => verdicts[n]?.kind === 'later');
    for (const waiting of putOff) waiting.putOffSinceMs ||= Date.now();
    return putOff;
  }

  async #writeWithRetries(batch: readonly Waiting[], alone: boolean): Promise<readonly Verdict[]> {
    const { ids, clock, proof } = this.#deps;
    const messages = batch.map(({ message }) => message);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await writeBatch({ lane: this.#lane, ids, clock, proof }, messages, !alone);
      } catch (error) {
        if (error instanceof Refusal || isBatchFault(error) || alone || attempt >= BATCH_TRIES) throw error;
        this.#deps.log.warn({ error: error as Error, attempt }, 'a batch of messages is tried again');
      }
    }
  }

  /** One bad message must not fail its neighbours: halves are written on their own, down to the one that is at fault. */
  async #bisect(batch: readonly Waiting[], error: unknown, alone: boolean): Promise<Waiting[]> {
    if (isBatchFault(error) && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      const first = await this.#write(batch.slice(0, middle), alone);
      // What was put off keeps its place before the later messages of its conversation.
      const blocked = new Set(first.map(({ message }) => message.conversationId));
      const rest = batch.slice(middle);
      const held = rest.filter(({ message }) => blocked.has(message.conversationId));
      const free = rest.filter(({ message }) => !blocked.has(message.conversationId));
      const second = free.length === 0 ? [] : await this.#write(free, alone);
      return [...first, ...held, ...second];
    }
    const [waiting] = batch;
    if (isDuplicateKey(error) && waiting !== undefined && (waiting.putOffSinceMs === 0 || waiting.message.wantedId !== undefined)) {
      return [onceMore(waiting)];
    }
    this.#deps.log.error({ error: error as Error, messages: batch.length }, 'messages not stored');
    for (const { reject } of batch) reject(toRefusal(error));
    return [];
  }

  /** After COMMIT: jobs first, answers second. */
  async #answer(batch: readonly Waiting[], verdicts: readonly Verdict[], persistSeconds: number): Promise<void> {
    batch.forEach(({ reject }, n) => {
      const verdict = verdicts[n];
      if (verdict?.kind === 'refused') reject(new Refusal(verdict.reason));
    });
    const done = batch.flatMap((waiting, n) => {
      const verdict = verdicts[n];
      return verdict?.kind === 'stored' || verdict?.kind === 'repeat' ? [{ waiting, verdict }] : [];
    });
    if (done.length === 0) return;
    const started = performance.now();
    try {
      await this.#enqueue(done.map(({ waiting, verdict }) => this.#toJob(waiting.message, verdict)));
    } catch (error) {
      this.#deps.log.warn(
        { error: error as Error, messages: done.length },
        'stored messages not queued; their senders get no answer but BUSY',
      );
      for (const { waiting } of done)
        waiting.reject(new Refusal('BUSY', 'stored but not queued; send it again with the same client_msg_id'));
      return;
    }
    const stored = done.filter(({ verdict }) => verdict.kind === 'stored').length;
    this.#deps.onBatch?.({ stored, persistSeconds, enqueueSeconds: (performance.now() - started) / 1_000 });
    for (const { waiting, verdict } of done) waiting.resolve(toSent(verdict));
  }

  async #enqueue(jobs: readonly DeliverJob[]): Promise<void> {
    for (const wait of ENQUEUE_RETRY_MS) {
      try {
        await this.#deps.enqueue(jobs);
        return;
      } catch {
        await pause(wait);
      }
    }
    await this.#deps.enqueue(jobs);
  }

  /** The job of a repeat carries only the id; what it lacks is read in case it really was never delivered. */
  #toJob(message: NewMessage, verdict: Extract<Verdict, { kind: 'stored' | 'repeat' }>): DeliverJob {
    const shared = {
      tenant: this.#deps.tenant,
      conversationId: message.conversationId,
      kind: CHANGE_KINDS.MESSAGE,
      actorId: message.senderId,
      excludeDevice: message.senderDeviceId,
      notPush: message.notPush,
    };
    if (verdict.kind === 'repeat') return { ...shared, changeId: verdict.sent.msgId, prevChangeId: 0n, data: '' };
    const { id, prevChangeId } = verdict.numbered;
    return { ...shared, changeId: id, prevChangeId, data: messageData(toStored(verdict.numbered)) };
  }
}

/**
 * After a duplicate key: somebody stored the same client_msg_id between our look and our insert, and the next look finds it; or the wanted
 * id is a message already, and any other id will do.
 */
function onceMore(waiting: Waiting): Waiting {
  waiting.message = { ...waiting.message, wantedId: undefined };
  waiting.putOffSinceMs ||= Date.now();
  return waiting;
}

function toSent(verdict: Extract<Verdict, { kind: 'stored' | 'repeat' }>): Sent {
  if (verdict.kind === 'repeat') return verdict.sent;
  return { msgId: verdict.numbered.id, isDuplicate: false, storedAt: verdict.numbered.storedAt };
}

function toStored({ message, id, prevMsgId, prevChangeId, storedAt }: NumberedMessage): Parameters<typeof messageData>[0] {
  const { conversationId, senderId, clientMsgId, messageType, content } = message;
  return {
    id,
    conversationId,
    senderId,
    clientMsgId,
    messageType,
    content,
    status: MESSAGE_STATUS.NORMAL,
    prevMsgId,
    prevChangeId,
    createdAt: storedAt,
  };
}

/** The content of some message of the batch is what MySQL refused. */
function isBatchFault(error: unknown): boolean {
  return isDuplicateKey(error) || isDataError(error);
}

function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (isDataError(error)) return new Refusal('INVALID_ARGUMENT', 'the store does not take this message', {}, { cause: error });
  const message = isLockConflict(error) ? 'the conversation is busy' : 'the store does not answer';
  return new Refusal('BUSY', `${message}; send it again with the same client_msg_id`, {}, { cause: error });
}
