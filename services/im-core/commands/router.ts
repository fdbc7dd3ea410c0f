import { isUtf8 } from 'node:buffer';
import { monotonicFactory } from 'ulid';
import { commandName, COMMANDS } from '#shared/contract/commands.ts';
import { answerBody } from '#shared/contract/frame-body.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { Refusal, refusalAnswer } from '#shared/contract/reasons.ts';
import type { Log, LogFields } from '#shared/platform/log/log.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { Connection } from '../gateway/connection.ts';
import type { Session } from '../gateway/sessions.ts';
import type { AuthAnswer } from './auth.ts';
import { CommandMetrics } from './command-metrics.ts';
import type { CommandBody, CommandHandler } from './command.ts';
import { heartbeat } from './heartbeat.ts';
import type { HeartbeatDeps } from './heartbeat.ts';
import { pushAck } from './push-ack.ts';
import type { RateLimits } from './rate-limits.ts';
import type { TaskPool } from './task-pool.ts';

export interface RouterDeps extends HeartbeatDeps {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly pool: TaskPool;
  readonly auth: { authenticate(connection: Connection, body: CommandBody): Promise<AuthAnswer> };
  readonly limits: Pick<RateLimits, 'assertAuth' | 'assertCommand'>;
  readonly handlers: readonly CommandHandler[];
  /** Largest body of an answer (bytes); a longer one becomes TOO_LARGE. */
  readonly maxBodyBytes: number;
}

/** One request on its way. */
interface Request {
  readonly connection: Connection;
  readonly frame: Frame;
  readonly traceId: string;
  readonly startedMs: number;
  /** The one AUTH that a connection may try. */
  readonly isAuth: boolean;
  /** What it is about, as far as it is known yet; for the log. */
  readonly about: { conversation_id?: string; msg_id?: string };
}

/** From frame to answer: what runs where, and the one place where what was thrown becomes an answer. Bodies are never logged (OBS-14). */
export class Router {
  readonly #deps: RouterDeps;
  readonly #handlers: ReadonlyMap<number, CommandHandler>;
  readonly #figures: CommandMetrics;
  readonly #ulid = monotonicFactory();

  constructor(deps: RouterDeps) {
    this.#deps = deps;
    this.#handlers = new Map(deps.handlers.map((handler) => [handler.command, handler]));
    this.#figures = new CommandMetrics(deps.metrics);
  }

  /** Never throws. HEARTBEAT and PUSH_ACK are done when it returns (FRM-14); everything else is in the pool. */
  readonly onFrame = (connection: Connection, frame: Frame): void => {
    if (frame.command === COMMANDS.PUSH_ACK) {
      pushAck(connection, frame);
      return;
    }
    const isAuth = frame.command === COMMANDS.AUTH && connection.claimAuth();
    const request = { connection, frame, traceId: `req_${this.#ulid()}`, startedMs: performance.now(), isAuth, about: {} };
    if (frame.command === COMMANDS.HEARTBEAT) {
      this.#answer(request, frame.command, heartbeat(this.#deps, connection.session));
      return;
    }
    try {
      const task = this.#task(request);
      this.#deps.pool.submit(() => this.#perform(request, task));
    } catch (error) {
      this.#refuse(request, error);
      if (isAuth) connection.close('AUTH_FAILED');
    }
  };

  /** @throws {Refusal} what needs no work to be refused */
  #task(request: Request): () => Promise<void> {
    const { connection, frame } = request;
    if (frame.command === COMMANDS.AUTH) {
      if (!request.isAuth) throw new Refusal('INVALID_ARGUMENT', 'a connection authenticates once');
      this.#deps.limits.assertAuth(connection.realIp);
      return () => this.#authenticate(request);
    }
    const { session } = connection;
    if (connection.state !== 'ACTIVE' || session === undefined)
      throw new Refusal('UNAUTHORIZED', 'AUTH comes first, and its answer before the next command');
    const handler = this.#handlers.get(frame.command);
    if (handler === undefined) throw new Refusal('INVALID_ARGUMENT', `command ${frame.command} is not known`, { command: frame.command });
    this.#deps.limits.assertCommand(session, frame.command);
    return () => this.#handle(request, session, handler);
  }

  async #perform(request: Request, task: () => Promise<void>): Promise<void> {
    if (!request.connection.isOpen) return; // nobody waits any more, and nothing has been begun
    try {
      await task();
    } catch (error) {
      this.#refuse(request, error);
    }
  }

  async #authenticate(request: Request): Promise<void> {
    const { connection, frame } = request;
    try {
      const data = await this.#deps.auth.authenticate(connection, parseBody(frame.body));
      this.#answer(request, COMMANDS.AUTH, data);
      connection.activate();
    } catch (error) {
      this.#refuse(request, error);
      connection.close('AUTH_FAILED');
    }
  }

  async #handle(request: Request, session: Session, handler: CommandHandler): Promise<void> {
    const { frame, traceId } = request;
    const { tenant, userId, deviceId, connectionId, realIp } = session;
    const context = { tenant, userId, deviceId, connectionId, realIp, traceId, session };
    const body = parseBody(frame.body);
    note(request, body);
    const data = await handler.handle(context, body, frame.body);
    note(request, data);
    this.#answer(request, handler.replyWith ?? handler.command, data);
  }

  /** @throws {Refusal} TOO_LARGE when the answer fits no frame */
  #answer(request: Request, command: number, data: object | Buffer): void {
    const body = answerBody(request.traceId, data);
    if (body.length > this.#deps.maxBodyBytes) {
      throw new Refusal('TOO_LARGE', `the answer is over ${this.#deps.maxBodyBytes} bytes; ask for less`, {
        limit: this.#deps.maxBodyBytes,
      });
    }
    request.connection.reply(request.frame, command, body);
    this.#figures.answered(request.frame.command, secondsSince(request));
    this.#deps.log.debug(fieldsOf(request), 'answered');
  }

  #refuse(request: Request, error: unknown): void {
    const { connection, frame, traceId } = request;
    const reason = error instanceof Refusal ? error.reason : 'INTERNAL';
    if (error instanceof Refusal) this.#deps.log.debug({ ...fieldsOf(request), reason }, 'refused');
    else
      this.#deps.log.error({ ...fieldsOf(request), error: error instanceof Error ? error : new Error(String(error)) }, 'a command failed');
    connection.reply(frame, frame.command, Buffer.from(JSON.stringify(refusalAnswer(error, traceId))));
    this.#figures.refused(frame.command, reason, secondsSince(request));
  }
}

function secondsSince({ startedMs }: Request): number {
  return (performance.now() - startedMs) / 1_000;
}

const ID = /^[0-9]{1,20}$/;

/** Ids alone: whatever else a body or an answer holds stays out of the log (OBS-14). */
function note({ about }: Request, source: object): void {
  for (const field of ['conversation_id', 'msg_id'] as const) {
    const id = (source as Readonly<Record<string, unknown>>)[field];
    if (typeof id === 'string' && ID.test(id)) about[field] = id;
  }
}

/** @see OBS-01 */
function fieldsOf({ connection, frame, traceId, about }: Request): LogFields {
  const { id, realIp, session } = connection;
  return {
    trace_id: traceId,
    connection_id: id,
    real_ip: realIp,
    command: commandName(frame.command) ?? String(frame.command),
    ...(session === undefined ? {} : { user_id: session.userId.toString(), device_id: session.deviceId.toString() }),
    ...about,
  };
}

/** An empty body stands for `{}`. @throws {Refusal} INVALID_ARGUMENT */
export function parseBody(bytes: Buffer): CommandBody {
  if (bytes.length === 0) return {};
  if (!isUtf8(bytes)) throw new Refusal('INVALID_ARGUMENT', 'the body is not UTF-8');
  const body = parseJson(bytes);
  if (!isObject(body)) throw new Refusal('INVALID_ARGUMENT', 'the body must be a JSON object');
  return body;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new Refusal('INVALID_ARGUMENT', 'the body is not JSON'); // the parser's message quotes the body
  }
}

function isObject(value: unknown): value is CommandBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
