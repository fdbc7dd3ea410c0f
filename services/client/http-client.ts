import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { openAnswer } from './answer.ts';
import type { Data } from './answer.ts';
import { addressOf } from './tls-connection.ts';
import type { Target } from './tls-connection.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  /** With query, as it goes on the wire. */
  readonly path: string;
  readonly token?: string;
  readonly body?: object;
  /** Further headers, such as one that a test forges. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpReply {
  readonly status: number;
  readonly data: Data;
  readonly traceId: string;
}

/** JSON over HTTPS to one of the appliance's names; the connection goes where `target.connect` says, the name into SNI and Host. */
export class HttpClient {
  readonly #target: Target;
  readonly #agent: Agent;

  constructor(target: Target) {
    this.#target = target;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 16 });
  }

  /**
   * @throws {RefusedError} the server's refusal
   * @throws {Error} no answer in time, or something that is no answer
   */
  async call(asked: HttpRequest): Promise<HttpReply> {
    const response = await this.#send(asked);
    const status = response.statusCode ?? 0;
    const body = await text(response);
    try {
      return { status, ...openAnswer(body) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      throw new Error(`${asked.method} ${asked.path} was answered ${status} without JSON`, { cause: error });
    }
  }

  async get(path: string, token?: string): Promise<Data> {
    return (await this.call({ method: 'GET', path, ...(token === undefined ? {} : { token }) })).data;
  }

  async post(path: string, body: object, token?: string): Promise<Data> {
    return (await this.call({ method: 'POST', path, body, ...(token === undefined ? {} : { token }) })).data;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send({ method, path, token, body, headers }: HttpRequest): Promise<IncomingMessage> {
    const { connect, servername, ca, from, timeoutMs = 10_000 } = this.#target;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = request(
      {
        ...addressOf(connect),
        agent: this.#agent,
        method,
        path,
        servername,
        ...(from === undefined ? {} : { localAddress: from }),
        ...(ca === undefined ? {} : { ca }),
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          ...headers,
          Host: servername,
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
          ...(bytes === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': bytes.length }),
        },
      },
      resolve,
    );
    outgoing.on('error', (cause) => reject(new Error(`${method} https://${servername}${path} at ${connect}: ${cause.message}`, { cause })));
    outgoing.end(bytes);
    return promise;
  }
}
