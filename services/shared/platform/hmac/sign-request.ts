import { randomBytes } from 'node:crypto';
import { encodeOperatorContext, INTERNAL_HEADERS, OPERATOR_PARAMETER } from '#shared/contract/internal-api.ts';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { hmacOf, sha256Hex } from './signature.ts';

export interface RequestToSign {
  readonly service: string;
  readonly secret: Buffer;
  readonly method: string;
  /** Path with query as it will be sent. */
  readonly target: string;
  readonly body?: Buffer;
  readonly requestId?: string;
  /** For calls on behalf of a person; appends `ctx` to the query. */
  readonly operator?: OperatorContext;
  /** Default now. */
  readonly nowMs?: number;
  /** Default 16 random bytes in hex. */
  readonly nonce?: string;
}

export interface SignedRequest {
  /** Send exactly this in the request line. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Signs a call to an `/internal/*` route of the appliance: returns the target to call and the headers to send with it.
 * Works for any client; it needs nothing of ours but the service's name and secret.
 *
 * @see SIG-05 .. SIG-10
 */
export function signRequest(request: RequestToSign): SignedRequest {
  const {
    service,
    secret,
    method,
    body = Buffer.alloc(0),
    requestId,
    nowMs = Date.now(),
    nonce = randomBytes(16).toString('hex'),
  } = request;
  const operator = request.operator === undefined ? undefined : encodeOperatorContext(request.operator);
  const target = operator === undefined ? request.target : withParameter(request.target, OPERATOR_PARAMETER, sha256Hex(operator));
  const timestamp = Math.floor(nowMs / 1_000).toString();
  const signature = hmacOf(secret, { method, target, bodySha256: sha256Hex(body), timestamp, nonce }).toString('hex');
  return {
    target,
    headers: {
      [INTERNAL_HEADERS.service]: service,
      [INTERNAL_HEADERS.timestamp]: timestamp,
      [INTERNAL_HEADERS.nonce]: nonce,
      [INTERNAL_HEADERS.signature]: signature,
      ...(requestId === undefined ? {} : { [INTERNAL_HEADERS.requestId]: requestId }),
      ...(operator === undefined ? {} : { [INTERNAL_HEADERS.operator]: operator }),
    },
  };
}

function withParameter(target: string, name: string, value: string): string {
  return `${target}${target.includes('?') ? '&' : '?'}${name}=${value}`;
}
