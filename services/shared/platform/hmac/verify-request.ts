import { INTERNAL_HEADERS, decodeOperatorContext, OPERATOR_PARAMETER } from '#shared/contract/internal-api.ts';
import type { InternalScope, OperatorContext, SignedParts } from '#shared/contract/internal-api.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Clock } from '../clock/clock.ts';
import type { NonceVerdict } from './nonce-store.ts';
import { decodeSignature, isSignedBy, sha256Hex } from './signature.ts';

export interface ServiceKey {
  readonly id: string;
  readonly secret: Buffer;
  /** The key is refused from this moment on; null = no end. */
  readonly notAfter: Date | null;
}

/** A service that may call us: what it may call, and its live keys (two while one is being replaced). */
export interface KnownService {
  readonly name: string;
  readonly allow: readonly InternalScope[];
  readonly keys: readonly ServiceKey[];
}

export interface VerifyDeps {
  readonly services: readonly KnownService[];
  readonly nonces: { take(request: NonceRequest): Promise<NonceVerdict> };
  readonly clock: Clock;
  readonly windowSeconds: number;
}

interface NonceRequest {
  service: string;
  nonce: string;
  signedAtMs: number;
  nowMs: number;
  ttlMs: number;
}

/** A request as it came over the wire. */
export interface IncomingRequest {
  readonly method: string;
  /** The request line's target, untouched. */
  readonly target: string;
  readonly body: Buffer;
  /** A header's value, undefined when it was not sent. */
  header(name: string): string | undefined;
}

export interface Caller {
  readonly service: string;
  readonly keyId: string;
}

const NONCE = /^[\x21-\x7e]{8,128}$/;
const TIMESTAMP = /^(?:[0-9]{10}|[0-9]{13})$/;
const NOBODY: ServiceKey = { id: '', secret: Buffer.alloc(32), notAfter: null };

/**
 * Proves who calls: headers, signature over the raw bytes, time, nonce, then what the service may call. The nonce is taken only after
 * the signature held, so nobody without a key can fill the store or burn a nonce.
 *
 * @throws {Refusal} SIGNATURE_MISSING | SIGNATURE_INVALID | TIMESTAMP_OUT_OF_WINDOW | NONCE_REPLAYED (401) | SERVICE_NOT_ALLOWED (403) | BUSY (503: Redis is away)
 * @see SIG-05 .. SIG-19 @see G-49
 */
export async function verifyRequest(deps: VerifyDeps, request: IncomingRequest, scope: InternalScope): Promise<Caller> {
  const claim = readClaim(request);
  const service = deps.services.find(({ name }) => name === claim.service);
  const key = findKey(service, deps.clock.now(), claim);
  const nowMs = deps.clock.nowMs();
  const signedAtMs = assertInWindow(claim.parts.timestamp, nowMs, deps.windowSeconds);
  await takeNonce(deps, { service: claim.service, nonce: claim.parts.nonce, signedAtMs, nowMs });
  if (service?.allow.includes(scope) !== true) throw new Refusal('SERVICE_NOT_ALLOWED', `this service may not call ${scope}`, { scope });
  return { service: claim.service, keyId: key.id };
}

interface Claim {
  readonly service: string;
  readonly parts: SignedParts;
  readonly signature: Buffer;
}

function readClaim(request: IncomingRequest): Claim {
  const [service, timestamp, nonce, signature] = (['service', 'timestamp', 'nonce', 'signature'] as const).map((name) => {
    const value = request.header(INTERNAL_HEADERS[name]);
    if (value === undefined)
      throw new Refusal('SIGNATURE_MISSING', `${INTERNAL_HEADERS[name]} is missing`, { header: INTERNAL_HEADERS[name] });
    return value;
  }) as [string, string, string, string];
  const bytes = decodeSignature(signature);
  // An absolute-form target reaches an application unchanged and would name another host.
  if (bytes === undefined || !NONCE.test(nonce) || !TIMESTAMP.test(timestamp) || !request.target.startsWith('/')) throw invalid();
  const { method, target, body } = request;
  return { service, parts: { method, target, bodySha256: sha256Hex(body), timestamp, nonce }, signature: bytes };
}

/** Every live key is tried, and a stranger's signature is computed as well, so that time tells nothing about names. */
function findKey(service: KnownService | undefined, now: Date, { parts, signature }: Claim): ServiceKey {
  const live = (service?.keys ?? [NOBODY]).filter(({ notAfter }) => notAfter === null || now < notAfter);
  const key = live.filter(({ secret }) => isSignedBy(secret, parts, signature))[0];
  if (service === undefined || key === undefined) throw invalid();
  return key;
}

function invalid(): Refusal {
  return new Refusal('SIGNATURE_INVALID', 'the signature does not hold');
}

function assertInWindow(timestamp: string, nowMs: number, windowSeconds: number): number {
  const signedAtMs = timestamp.length === 13 ? Number(timestamp) : Number(timestamp) * 1_000;
  if (Math.abs(nowMs - signedAtMs) > windowSeconds * 1_000) {
    throw new Refusal('TIMESTAMP_OUT_OF_WINDOW', 'the timestamp is too far from our clock', {
      window_seconds: windowSeconds,
      server_time_ms: nowMs,
    });
  }
  return signedAtMs;
}

async function takeNonce(deps: VerifyDeps, request: Omit<NonceRequest, 'ttlMs'>): Promise<void> {
  const verdict = await deps.nonces.take({ ...request, ttlMs: (2 * deps.windowSeconds + 1) * 1_000 }).catch((cause: unknown) => {
    throw new Refusal('BUSY', 'nonces cannot be checked now', {}, { cause });
  });
  if (verdict === 'replayed') throw new Refusal('NONCE_REPLAYED', 'this nonce was used');
  if (verdict === 'before_store') {
    throw new Refusal('TIMESTAMP_OUT_OF_WINDOW', 'signed before nonces were kept here; sign again', { retry_after_ms: 1_000 });
  }
}

/**
 * Reads for whom a verified call is made. The header is bound to the signature by its hash in the query.
 *
 * @throws {Refusal} OPERATOR_CONTEXT_INVALID
 * @see QRY-17 @see G-18
 */
export function operatorOf(request: Pick<IncomingRequest, 'target' | 'header'>): OperatorContext {
  const header = request.header(INTERNAL_HEADERS.operator);
  if (header === undefined) throw new Refusal('OPERATOR_CONTEXT_INVALID', 'X-Admin-Context is missing');
  const query = request.target.split('?').slice(1).join('?');
  const bound = new URLSearchParams(query).getAll(OPERATOR_PARAMETER);
  if (bound.length !== 1 || bound[0] !== sha256Hex(header)) {
    throw new Refusal('OPERATOR_CONTEXT_INVALID', 'the query parameter ctx must occur once and be the SHA-256 of X-Admin-Context');
  }
  return decodeOperatorContext(header);
}
