import type { TLSSocket } from 'node:tls';
import { COMMANDS } from '#shared/contract/commands.ts';
import { encodeFrame, FrameReader } from '#shared/contract/frame-codec.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { openAnswer } from './answer.ts';
import type { Data } from './answer.ts';
import { Pushes } from './pushes.ts';
import type { Push } from './pushes.ts';
import { openTls } from './tls-connection.ts';
import type { Target } from './tls-connection.ts';

export interface ConnectionOptions {
  /** Answers every push but KICK with PUSH_ACK as it comes. Default true. */
  readonly acknowledge?: boolean;
  /** Default 128 KiB, the server's own default. */
  readonly maxBodyBytes?: number;
  readonly compressMinBytes?: number;
}

interface Pending {
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: Error) => void;
}

/** The answer to a request, with the id under which the server's log knows it. */
export interface Reply {
  readonly command: number;
  readonly data: Data;
  readonly traceId: string;
}

const LONGEST_WAIT_MS = 15_000;

/** One connection to the gateway: requests matched to answers by SequenceID, everything else in `pushes`. */
export class ImConnection {
  readonly pushes = new Pushes();
  /** Resolves when the connection is gone, whoever ended it. */
  readonly closed: Promise<void>;
  readonly #socket: TLSSocket;
  readonly #options: Required<ConnectionOptions>;
  readonly #reader: FrameReader;
  readonly #pending = new Map<number, Pending>();
  #sequence = 0;
  #error: Error | undefined;

  constructor(socket: TLSSocket, options: ConnectionOptions = {}) {
    this.#socket = socket;
    this.#options = { acknowledge: true, maxBodyBytes: 131_072, compressMinBytes: 512, ...options };
    this.#reader = new FrameReader(this.#options);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error: Error) => (this.#error = error));
    socket.on('close', () => this.#ended());
  }

  static async open(target: Target, options?: ConnectionOptions): Promise<ImConnection> {
    return new ImConnection(await openTls(target), options);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /**
   * Asks and waits for the answer.
   *
   * @throws {RefusedError} the server's refusal
   * @throws {Error} the connection ended, or no answer came in time: nobody knows whether it was done
   */
  async request(command: number, body: object, timeoutMs = LONGEST_WAIT_MS): Promise<Reply> {
    const frame = await this.exchange(command, Buffer.from(JSON.stringify(body)), { timeoutMs });
    return { command: frame.command, ...openAnswer(frame.body.toString()) };
  }

  /** The same with bytes both ways, for tests that look at the frame. Default RequestID: the SequenceID. */
  async exchange(
    command: number,
    body: Buffer,
    { requestId, timeoutMs = LONGEST_WAIT_MS }: { requestId?: bigint; timeoutMs?: number } = {},
  ): Promise<Frame> {
    if (!this.isOpen) throw this.#gone();
    this.#sequence += 1;
    const sequenceId = this.#sequence;
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    const timer = setTimeout(() => reject(new Error(`no answer to command ${command} within ${timeoutMs} ms`)), timeoutMs);
    this.#pending.set(sequenceId, { resolve, reject });
    this.send({ command, requestId: requestId ?? BigInt(sequenceId), sequenceId, body });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#pending.delete(sequenceId);
    }
  }

  /** Sends a frame as it is and waits for nothing. */
  send(frame: Frame): void {
    this.#socket.write(encodeFrame(frame, this.#options.compressMinBytes));
  }

  /** Sends bytes that need not be a frame. */
  sendBytes(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  acknowledge(push: Push): void {
    this.send({ command: COMMANDS.PUSH_ACK, requestId: 0n, sequenceId: push.sequenceId, body: EMPTY });
  }

  /** Stops reading, so that the server sees a slow client. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  async close(): Promise<void> {
    this.#socket.end();
    await this.closed;
  }

  /** Ends it without a goodbye, as a lost network does. */
  cut(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.read(chunk)) this.#dispatch(frame);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #dispatch(frame: Frame): void {
    const pending = isPush(frame) ? undefined : this.#pending.get(frame.sequenceId);
    if (pending !== undefined) {
      pending.resolve(frame);
      return;
    }
    if (!isPush(frame)) return; // the answer came after its request was given up
    const push = {
      command: frame.command,
      sequenceId: frame.sequenceId,
      data: openAnswer(frame.body.toString()).data,
      atMs: performance.now(),
      frame,
    };
    if (this.#options.acknowledge && frame.command !== COMMANDS.KICK) this.acknowledge(push);
    this.pushes.add(push);
  }

  #ended(): void {
    const error = this.#gone();
    for (const { reject } of this.#pending.values()) reject(error);
    this.pushes.end(error);
  }

  #gone(): Error {
    return new Error('the connection to the gateway ended', { cause: this.#error });
  }
}

/** Our own requests never carry RequestID 0, so that an answer is told from a push whatever its command (READ_MESSAGE is both). */
function isPush({ requestId }: Frame): boolean {
  return requestId === 0n;
}

const EMPTY = Buffer.alloc(0);
