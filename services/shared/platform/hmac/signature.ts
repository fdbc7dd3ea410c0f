import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalText } from '#shared/contract/internal-api.ts';
import type { SignedParts } from '#shared/contract/internal-api.ts';

/** Lower-case hex SHA-256. */
export function sha256Hex(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function hmacOf(secret: Buffer, parts: SignedParts): Buffer {
  return createHmac('sha256', secret).update(canonicalText(parts)).digest();
}

const HEX = /^[0-9a-fA-F]{64}$/;
const BASE64 = /^[A-Za-z0-9+/]{43}=$/;

/**
 * The 32 bytes of a signature header: hex or padded base64, with or without `sha256=`. Anything else is undefined;
 * Buffer's own decoders would take half of a wrong text for the whole.
 *
 * @see SIG-09
 */
export function decodeSignature(header: string): Buffer | undefined {
  const text = header.startsWith('sha256=') ? header.slice('sha256='.length) : header;
  if (HEX.test(text)) return Buffer.from(text, 'hex');
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** Compares in constant time. */
export function isSignedBy(secret: Buffer, parts: SignedParts, signature: Buffer): boolean {
  const expected = hmacOf(secret, parts);
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}
