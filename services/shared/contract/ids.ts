import { Refusal } from './reasons.ts';

/** Ids are signed 64-bit in MySQL; 0 means "none". */
export const MAX_ID = 2n ** 63n - 1n;

const DECIMAL = /^(?:0|[1-9][0-9]{0,18})$/;

/**
 * Reads an id from JSON: a decimal string, or a number that is a safe integer. Never rounds.
 *
 * @returns 1 .. 2^63-1 (or 0 when `min` is 0n)
 * @throws {Refusal} INVALID_ARGUMENT with the field's name
 */
export function parseId(value: unknown, field: string, min = 1n): bigint {
  const id = toBigInt(value);
  if (id === undefined || id < min || id > MAX_ID) {
    throw new Refusal('INVALID_ARGUMENT', `${field} must be a decimal string (or a safe integer) between ${min.toString()} and 2^63-1`, {
      field,
    });
  }
  return id;
}

function toBigInt(value: unknown): bigint | undefined {
  if (typeof value === 'string' && DECIMAL.test(value)) return BigInt(value);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return undefined;
}

export type ExternalKind = 'usr' | 'grp' | 'p2p';

/** The form that ids have on Kafka and internal HTTP: `usr42`, `grp7`, `p2p9`. */
export function externalId(kind: ExternalKind, id: bigint): string {
  return `${kind}${id.toString()}`;
}

/** @throws {Refusal} INVALID_ARGUMENT when it is not `<kind><decimal>` of one of the kinds. */
export function parseExternalId(value: unknown, kinds: readonly ExternalKind[], field: string): { kind: ExternalKind; id: bigint } {
  if (typeof value === 'string') {
    const kind = kinds.find((candidate) => value.startsWith(candidate));
    if (kind !== undefined) return { kind, id: parseId(value.slice(kind.length), field) };
  }
  throw new Refusal('INVALID_ARGUMENT', `${field} must look like ${kinds.map((kind) => `${kind}123`).join(' or ')}`, { field });
}
