import type { Session } from '../gateway/session.ts';

/** Who asks, and the ids that go into every log line of the request. */
export interface CommandContext {
  readonly tenant: string;
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly connectionId: string;
  readonly realIp: string;
  /** `req_<ULID>`, made for this request; the answer carries it as `request_id`. */
  readonly traceId: string;
  readonly session: Session;
}

/** The request's body: a JSON object, nothing in it checked yet. */
export type CommandBody = Readonly<Record<string, unknown>>;

/**
 * One client command. The router runs it in the task pool, in the order the requests of a connection arrived, up to its first await,
 * and answers with what it returns.
 */
export interface CommandHandler {
  readonly command: number;
  /** Command number of the answer where it is another one (SEND_MESSAGE is answered by SEND_ACK). Refusals keep `command`. */
  readonly replyWith?: number;
  /**
   * @param body the parsed body
   * @param raw the body's bytes as received (inflated). `memberBytes(raw, 'content')` of shared/contract gives one member untouched,
   *   where the bytes matter and not the value.
   * @returns `data` of the answer; a Buffer is embedded as the JSON that it already is
   * @throws {Refusal} answered with its code; anything else is logged once and answered as INTERNAL
   */
  handle(context: CommandContext, body: CommandBody, raw: Buffer): Promise<object | Buffer>;
}
