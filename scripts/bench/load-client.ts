import { COMMANDS } from '#shared/contract/commands.ts';
import { encodeFrame, FrameReader } from '#shared/contract/frame-codec.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { openAnswer } from '#client/answer.ts';
import { openTls } from '#client/tls-connection.ts';
import type { Target } from '#client/tls-connection.ts';
import type { TLSSocket } from 'node:tls';

/** A device that may come in, and where it talks. */
export interface Seat {
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly token: string;
  readonly conversationId: bigint;
}

/** Told of everything that comes back. Times are `performance.now()` of this process, which sends and receives both ends. */
export interface LoadEvents {
  readonly onAck: (sentMs: number) => void;
  /** The server said no, BUSY included. */
  readonly onRefused: (code: number) => void;
  readonly onDelivered: (sentMs: number) => void;
  /** The server dropped something and asks for a sync. */
  readonly onSyncRequired: () => void;
}

const MAX_BODY_BYTES = 131_072;
/** A client may be refused for a while; it must not fill the machine with repeats. */
const AFTER_REFUSAL_MS = 20;
/** 64 letters: a message as people type it. */
const TEXT = 'x'.repeat(64);
const OK = Buffer.from('{"code":0,');
const KEY = Buffer.from('"client_msg_id":"');
/** Length of the key that carries when the message was sent: run (12), number (7), microseconds (15), and two dashes. */
const KEY_LENGTH = 36;
const EMPTY = Buffer.alloc(0);

/**
 * One connection that sends as fast as its answers come. It does less than a real client: what it costs is taken from the same machine
 * that it measures. Every push is acknowledged, as the protocol asks.
 */
export class LoadClient {
  readonly #socket: TLSSocket;
  readonly #seat: Seat;
  readonly #events: LoadEvents;
  readonly #run: string;
  readonly #reader = new FrameReader({ maxBodyBytes: MAX_BODY_BYTES });
  readonly #sentMs = new Map<number, number>();
  #sequence = 0;
  #isSending = false;
  #outgoing: Buffer[] = [];
  #onIdle: (() => void) | undefined;
  #isClosing = false;
  #onAuth: ((frame: Frame) => void) | undefined;

  private constructor(socket: TLSSocket, seat: Seat, run: string, events: LoadEvents) {
    this.#socket = socket;
    this.#seat = seat;
    this.#events = events;
    this.#run = run;
  }

  /**
   * Connects and logs in.
   *
   * @param run 12 letters that no earlier run used, so that every message is new
   * @param onLost called when the connection ends though nobody closed it
   */
  static async open(
    target: Target,
    seat: Seat,
    { run, events, onLost }: { readonly run: string; readonly events: LoadEvents; readonly onLost: (error: Error) => void },
  ): Promise<LoadClient> {
    const client = new LoadClient(await openTls(target), seat, run, events);
    await client.#logIn(onLost);
    return client;
  }

  /** Sends until `stop`, with this many unanswered at any time. */
  start(inFlight: number): void {
    this.#isSending = true;
    for (let n = 0; n < inFlight; n += 1) this.#send();
    this.#flush();
  }

  /** Resolves when everything that was sent has been answered. */
  async stop(): Promise<void> {
    this.#isSending = false;
    if (this.#sentMs.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  close(): void {
    this.#isClosing = true;
    this.#socket.destroy();
  }

  async #logIn(onLost: (error: Error) => void): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on('error', () => undefined); // `close` follows
    this.#socket.on('close', () => {
      const error = new Error('the gateway ended a connection of the bench');
      reject(error);
      if (!this.#isClosing) onLost(error);
    });
    this.#onAuth = resolve;
    const { token, deviceId } = this.#seat;
    const body = Buffer.from(JSON.stringify({ token, device_id: deviceId.toString(), platform: 'bench' }));
    this.#socket.write(encodeFrame({ command: COMMANDS.AUTH, requestId: 1n, sequenceId: this.#next(), body }, MAX_BODY_BYTES));
    openAnswer((await promise).body.toString());
  }

  #receive(chunk: Buffer): void {
    for (const frame of this.#reader.read(chunk)) {
      if (frame.requestId === 0n) this.#take(frame);
      else this.#answered(frame);
    }
    this.#flush();
  }

  #take(push: Frame): void {
    const { command, sequenceId, body } = push;
    this.#outgoing.push(encodeFrame({ command: COMMANDS.PUSH_ACK, requestId: 0n, sequenceId, body: EMPTY }, MAX_BODY_BYTES));
    if (command === COMMANDS.EVENT && body.includes('"sync.required"')) this.#events.onSyncRequired();
    if (command !== COMMANDS.MESSAGE) return;
    const at = body.indexOf(KEY) + KEY.length;
    this.#events.onDelivered(Number(body.toString('latin1', at + KEY_LENGTH - 15, at + KEY_LENGTH)) / 1_000);
  }

  #answered(frame: Frame): void {
    if (frame.command === COMMANDS.AUTH) {
      this.#onAuth?.(frame);
      return;
    }
    const sentMs = this.#sentMs.get(frame.sequenceId);
    if (sentMs === undefined) return;
    this.#sentMs.delete(frame.sequenceId);
    const isStored = frame.body.subarray(0, OK.length).equals(OK);
    if (isStored) this.#events.onAck(sentMs);
    else this.#refused(frame);
    if (isStored && this.#isSending) this.#send();
    if (this.#sentMs.size === 0) this.#onIdle?.();
  }

  #refused(frame: Frame): void {
    this.#events.onRefused(Number(/"code":(\d+)/.exec(frame.body.toString())?.[1]));
    setTimeout(() => {
      if (!this.#isSending || this.#isClosing) return;
      this.#send();
      this.#flush();
    }, AFTER_REFUSAL_MS);
  }

  #send(): void {
    const sequenceId = this.#next();
    const sentMs = performance.now();
    this.#sentMs.set(sequenceId, sentMs);
    const key = `${this.#run}-${String(sequenceId).padStart(7, '0')}-${String(Math.round(sentMs * 1_000)).padStart(15, '0')}`;
    const body = `{"conversation_id":"${this.#seat.conversationId.toString()}","client_msg_id":"${key}","message_type":1,"content":{"t":1,"text":"${TEXT}"}}`;
    this.#outgoing.push(
      encodeFrame({ command: COMMANDS.SEND_MESSAGE, requestId: 1n, sequenceId, body: Buffer.from(body) }, MAX_BODY_BYTES),
    );
  }

  #flush(): void {
    if (this.#outgoing.length === 0) return;
    this.#socket.write(this.#outgoing.length === 1 ? (this.#outgoing[0] ?? EMPTY) : Buffer.concat(this.#outgoing));
    this.#outgoing = [];
  }

  #next(): number {
    this.#sequence += 1;
    return this.#sequence;
  }
}
