import { createHmac, timingSafeEqual } from 'node:crypto';

/** Record headers. `traceparent` is W3C trace context; the other two prove who wrote the value. */
export const HEADERS = { SERVICE: 'x-service', SIGNATURE: 'x-signature', TRACEPARENT: 'traceparent' } as const;

export interface Signer {
  readonly service: string;
  readonly key: Buffer;
}

/** Keys of the services we may hear, and for each topic which of them may write there. */
export interface Trust {
  readonly keys: ReadonlyMap<string, Buffer>;
  readonly producers: ReadonlyMap<string, readonly string[]>;
}

/** Why a record is not believed. */
export type SignatureFault = 'SIGNATURE_MISSING' | 'PRODUCER_NOT_ALLOWED' | 'SIGNATURE_INVALID';

/** HMAC-SHA256 over the value's bytes, lower-case hex. */
export function sign(key: Buffer, value: Buffer): string {
  return createHmac('sha256', key).update(value).digest('hex');
}

export function signatureHeaders({ service, key }: Signer, value: Buffer): Record<string, string> {
  return { [HEADERS.SERVICE]: service, [HEADERS.SIGNATURE]: sign(key, value) };
}

/** Checks who wrote the record. A tombstone (no value) is signed as the empty value. @see KFK-21 @see X-16 */
export function verify(
  trust: Trust,
  record: { topic: string; value: Buffer | null; headers: ReadonlyMap<string, string> },
): SignatureFault | undefined {
  const service = record.headers.get(HEADERS.SERVICE);
  const signature = record.headers.get(HEADERS.SIGNATURE);
  if (service === undefined || signature === undefined) return 'SIGNATURE_MISSING';
  const key = trust.keys.get(service);
  if (key === undefined || !(trust.producers.get(record.topic) ?? []).includes(service)) return 'PRODUCER_NOT_ALLOWED';
  const given = Buffer.from(signature, 'latin1');
  const expected = Buffer.from(sign(key, record.value ?? Buffer.alloc(0)), 'latin1');
  return given.length === expected.length && timingSafeEqual(given, expected) ? undefined : 'SIGNATURE_INVALID';
}
