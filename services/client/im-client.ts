import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { COMMANDS, MESSAGE_TYPES } from '#shared/contract/commands.ts';
import { RefusedError, textOf } from './answer.ts';
import type { Data } from './answer.ts';
import { ImConnection } from './im-connection.ts';
import type { ConnectionOptions, Reply } from './im-connection.ts';
import { Pushes } from './pushes.ts';
import type { Push } from './pushes.ts';
import type { Requester } from './sync.ts';
import type { Target } from './tls-connection.ts';

export interface ImClientDeps {
  readonly target: Target;
  readonly deviceId: string;
  readonly platform: string;
  /** A valid access token, asked for at every connect. */
  readonly token: () => Promise<string>;
  readonly options?: ConnectionOptions;
  /** Told after each AUTH, the first and those after a lost connection: the moment to sync. */
  readonly onConnected?: (answer: Data) => void;
  /** The server ended it for good, or the login is no longer accepted. */
  readonly onEnded?: (reason: string) => void;
}

export interface SendRequest {
  readonly conversationId: string;
  readonly content: object;
  readonly messageType?: number;
  /** The key that makes a repeat harmless. Default: a new one. */
  readonly clientMsgId?: string;
}

export interface SendAck {
  readonly msgId: string;
  readonly clientMsgId: string;
  readonly isDuplicate: boolean;
  readonly traceId: string;
}

/** What `onEnded` is told after `close`. */
export const CLOSED_BY_US = 'CLOSED_BY_US';

const FIRST_BACKOFF_MS = 100;
const LONGEST_BACKOFF_MS = 5000;
const SEND_DEADLINE_MS = 60_000;

/** After these the same device must not come back by itself: it would throw out whoever replaced it, or ask for ever. */
const FINAL_KICKS: ReadonlySet<unknown> = new Set(['REPLACED', 'ACCOUNT_SUSPENDED', 'TENANT_DISABLED', 'DEVICE_REMOVED', 'LOGGED_OUT']);

/** A device that stays logged in: it reconnects with backoff, and its pushes come out of one place whatever connection they came in. */
export class ImClient implements Requester {
  readonly pushes = new Pushes();
  readonly #deps: ImClientDeps;
  #connection: ImConnection | undefined;
  #connecting: Promise<ImConnection> | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #endReason: string | undefined;

  constructor(deps: ImClientDeps) {
    this.#deps = deps;
  }

  /** Connects and logs in once. @throws {RefusedError} AUTH was refused; @throws {Error} nobody there */
  async connect(): Promise<void> {
    await this.#open();
  }

  /** Asks on the open connection, or on the next one. What was asked on a connection that ended is not asked again. */
  async request(command: number, body: object): Promise<Reply> {
    const connection = await this.#current();
    return connection.request(command, body);
  }

  /**
   * Sends until the server has said yes or no: a lost answer, BUSY and RATE_LIMITED are asked again under the same key, not before the server
   * allows it.
   *
   * @throws {RefusedError} the message is refused; @throws {Error} no answer within a minute
   */
  async send({ conversationId, content, messageType = MESSAGE_TYPES.TEXT, clientMsgId = randomUUID() }: SendRequest): Promise<SendAck> {
    const body = { conversation_id: conversationId, client_msg_id: clientMsgId, message_type: messageType, content };
    const deadlineMs = performance.now() + SEND_DEADLINE_MS;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { data, traceId } = await this.request(COMMANDS.SEND_MESSAGE, body);
        return { msgId: textOf(data, 'msg_id'), clientMsgId, isDuplicate: data['is_duplicate'] === true, traceId };
      } catch (error) {
        const isFinal = error instanceof RefusedError && !error.isRetriable;
        const waitMs = waitAfter(error, attempt);
        if (isFinal || this.#endReason !== undefined || performance.now() + waitMs > deadlineMs) throw error;
        await pause(waitMs);
      }
    }
  }

  async read(conversationId: string, msgId: string): Promise<string> {
    const { data } = await this.request(COMMANDS.READ_MESSAGE, { conversation_id: conversationId, msg_id: msgId });
    return textOf(data, 'msg_id');
  }

  /** Ends the connection as a lost network does; the client comes back by itself. */
  cut(): void {
    this.#connection?.cut();
  }

  async close(): Promise<void> {
    this.#end(CLOSED_BY_US);
    await this.#connection?.close();
  }

  #current(): Promise<ImConnection> {
    if (this.#endReason !== undefined) return Promise.reject(this.#over());
    if (this.#connection?.isOpen === true) return Promise.resolve(this.#connection);
    return this.#reconnect();
  }

  #reconnect(): Promise<ImConnection> {
    this.#connecting ??= this.#openWithBackoff().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #openWithBackoff(): Promise<ImConnection> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#open();
      } catch (error) {
        if (error instanceof RefusedError && !error.isRetriable) this.#end(error.reason);
        if (this.#endReason !== undefined) throw error;
        await pause(waitAfter(error, attempt));
      }
    }
  }

  async #open(): Promise<ImConnection> {
    const { target, deviceId, platform, token, options, onConnected } = this.#deps;
    const connection = await ImConnection.open(target, options);
    try {
      const { data } = await connection.request(COMMANDS.AUTH, { token: await token(), device_id: deviceId, platform });
      if (this.#endReason !== undefined) throw this.#over();
      this.#adopt(connection, Number(data['heartbeat_ms']));
      onConnected?.(data);
    } catch (error) {
      connection.cut();
      throw error;
    }
    return connection;
  }

  #adopt(connection: ImConnection, heartbeatMs: number): void {
    this.#connection = connection;
    clearInterval(this.#heartbeat);
    this.#heartbeat = setInterval(() => void connection.request(COMMANDS.HEARTBEAT, {}).catch(() => connection.cut()), heartbeatMs);
    void this.#forward(connection);
  }

  async #forward(connection: ImConnection): Promise<void> {
    for await (const push of connection.pushes) this.#take(push);
    if (this.#connection !== connection) return;
    clearInterval(this.#heartbeat);
    if (this.#endReason === undefined) this.#reconnect().catch(() => undefined);
  }

  #take(push: Push): void {
    if (push.command === COMMANDS.KICK && FINAL_KICKS.has(push.data['reason'])) this.#end(textOf(push.data, 'reason'));
    this.pushes.add(push);
  }

  #end(reason: string): void {
    if (this.#endReason !== undefined) return;
    this.#endReason = reason;
    clearInterval(this.#heartbeat);
    this.pushes.end(this.#over());
    this.#deps.onEnded?.(reason);
  }

  #over(): Error {
    return new Error(`the session has ended: ${this.#endReason ?? ''}`);
  }
}

/** What the server asked for, and a little chance on top; else the backoff. */
function waitAfter(error: unknown, attempt: number): number {
  const askedMs = error instanceof RefusedError ? error.retryAfterMs : undefined;
  return askedMs === undefined ? backoffMs(attempt) : askedMs * (1 + Math.random() / 4);
}

/** Doubles up to the longest; half of it is chance, so that clients of a restarted server do not come all at once. */
function backoffMs(attempt: number): number {
  const longest = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(attempt, 10), LONGEST_BACKOFF_MS);
  return longest / 2 + (Math.random() * longest) / 2;
}
