import { request as httpRequest } from 'node:http';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { signRequest } from '../hmac/sign-request.ts';

/** How one of our services reaches another one's `/internal/*`. */
export interface SignedClientSettings {
  /** `unix:/path` or `http://host:port`. */
  readonly base: string;
  /** Who we are there. */
  readonly serviceName: string;
  readonly secret: Buffer;
  readonly timeoutMs: number;
}

export interface SignedQuestion {
  /** Path with query, already escaped. */
  readonly path: string;
  /** Becomes `X-Request-ID`. */
  readonly traceId: string;
  /** For calls on behalf of a person. */
  readonly operator?: OperatorContext;
}

/** An answer in our form, whatever it says. */
export interface SignedAnswer {
  readonly code: number;
  readonly msg: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Asks another service of ours, signed. @throws {Error} no connection, no answer in time, too long an answer, or none of ours. @see CFG-52 */
export async function signedGet(settings: SignedClientSettings, { path, traceId, operator }: SignedQuestion): Promise<SignedAnswer> {
  const { serviceName: service, secret } = settings;
  const signed = signRequest({
    service,
    secret,
    method: 'GET',
    target: path,
    requestId: traceId,
    ...(operator === undefined ? {} : { operator }),
  });
  return parseAnswer(await get(settings, signed.target, signed.headers));
}

function get({ base, timeoutMs }: SignedClientSettings, target: string, headers: Readonly<Record<string, string>>): Promise<string> {
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

function urlParts(base: string, path: string): { host: string; port: string; path: string } {
  const { hostname, port } = new URL(base);
  return { host: hostname, port, path };
}

function parseAnswer(text: string): SignedAnswer {
  const { code, msg, data } = JSON.parse(text) as { code?: unknown; msg?: unknown; data?: unknown };
  if (typeof code !== 'number' || typeof data !== 'object' || data === null) throw new Error('the answer is none of ours');
  return { code, msg: typeof msg === 'string' ? msg : '', data: data as Readonly<Record<string, unknown>> };
}
