import { request as httpRequest } from 'node:http';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { REASONS, Refusal } from '#shared/contract/reasons.ts';
import type { Reason } from '#shared/contract/reasons.ts';
import { signRequest } from '#shared/platform/hmac/sign-request.ts';
import type { Log } from '#shared/platform/log/log.ts';

export interface ImCoreSettings {
  /** `unix:/path` or `http://host:port`. */
  readonly base: string;
  readonly serviceName: string;
  readonly secret: Buffer;
  readonly timeoutMs: number;
}

/** A question on behalf of an administrator. */
export interface ImCoreQuery {
  /** Path with query below `/internal/admin-query`, already escaped. */
  readonly path: string;
  readonly operator: OperatorContext;
  readonly traceId: string;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** Reasons that are about the question and not about how it was asked; the administrator gets them as they are. */
const PASSED_ON: readonly Reason[] = ['INVALID_ARGUMENT', 'FORBIDDEN', 'RESOURCE_NOT_FOUND', 'RATE_LIMITED', 'BUSY'];

/** Asks im-core, signed. The back office has no other road to what a tenant holds. @see QRY-10 */
export class ImCoreClient {
  readonly #settings: ImCoreSettings;
  readonly #log: Log;

  constructor(settings: ImCoreSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** @returns `data` of the answer. @throws {Refusal} what im-core said about the question | BUSY when it did not answer in time | INTERNAL */
  async query({ path, operator, traceId }: ImCoreQuery): Promise<object> {
    const { serviceName: service, secret } = this.#settings;
    const signed = signRequest({ service, secret, method: 'GET', target: `/internal/admin-query${path}`, requestId: traceId, operator });
    const answer = await this.#get(signed.target, signed.headers).catch((cause: unknown) => {
      throw new Refusal('BUSY', 'im-core does not answer now', {}, { cause });
    });
    const { code, msg, data } = parseAnswer(answer);
    if (code === 0) return data;
    throw this.#refusal(data['reason'], msg, traceId, data);
  }

  #refusal(word: unknown, message: string, traceId: string, data: Readonly<Record<string, unknown>>): Refusal {
    const reason = PASSED_ON.find((candidate) => candidate === word);
    if (reason !== undefined) return new Refusal(reason, message);
    this.#log.error(
      { trace_id: traceId, reason: typeof word === 'string' && word in REASONS ? word : 'unknown' },
      'im-core refused how we asked',
    );
    return typeof data['retry_after_ms'] === 'number' ? new Refusal('BUSY', 'ask again in a moment') : new Refusal('INTERNAL');
  }

  #get(target: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const { base, timeoutMs } = this.#settings;
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const where = base.startsWith('unix:') ? { socketPath: base.slice('unix:'.length), path: target } : urlParts(base, target);
    const call = httpRequest({ ...where, method: 'GET', headers, signal: AbortSignal.timeout(timeoutMs), agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error('the answer is too large'));
        chunks.push(chunk);
      });
      response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      response.on('error', reject);
    });
    call.on('error', reject);
    call.end();
    return promise;
  }
}

function urlParts(base: string, path: string): { host: string; port: string; path: string } {
  const { hostname, port } = new URL(base);
  return { host: hostname, port, path };
}

function parseAnswer(text: string): { code: number; msg: string; data: Readonly<Record<string, unknown>> } {
  const answer = JSON.parse(text) as { code?: unknown; msg?: unknown; data?: unknown };
  const { code, msg, data } = answer;
  if (typeof code !== 'number' || typeof data !== 'object' || data === null)
    throw new Error('im-core gave something that is no answer of ours');
  return { code, msg: typeof msg === 'string' ? msg : '', data: data as Readonly<Record<string, unknown>> };
}
