import { Refusal } from './reasons.ts';

/** Headers of a signed request between services (SIG-05 .. SIG-09); `x-admin-context` names the person behind it (G-18). */
export const INTERNAL_HEADERS = {
  service: 'x-service-name',
  timestamp: 'x-timestamp',
  nonce: 'x-nonce',
  signature: 'x-signature',
  requestId: 'x-request-id',
  operator: 'x-admin-context',
} as const;

/** The query parameter that binds the operator context to the signature: SHA-256 of the header's text, lower-case hex. */
export const OPERATOR_PARAMETER = 'ctx';

/** What a service may be allowed to call (SIG-15). */
export const INTERNAL_SCOPES = ['admin_query', 'im_config', 'callback', 'alarm'] as const;
export type InternalScope = (typeof INTERNAL_SCOPES)[number];

/** What the signature covers, besides the body's hash. */
export interface SignedParts {
  /** Upper case, as sent. */
  readonly method: string;
  /** Path with query exactly as it stands in the request line; nothing decoded, nothing sorted. */
  readonly target: string;
  /** Lower-case hex; of the empty string when there is no body. */
  readonly bodySha256: string;
  /** The header's literal text: Unix seconds, or 13 digits of milliseconds. */
  readonly timestamp: string;
  readonly nonce: string;
}

/** The text under the HMAC. @see SIG-10 */
export function canonicalText({ method, target, bodySha256, timestamp, nonce }: SignedParts): string {
  return `${method}\n${target}\n${bodySha256}\n${timestamp}\n${nonce}`;
}

/** The administrator for whom a service asks, and why. @see QRY-17 */
export interface OperatorContext {
  readonly adminUserId: string;
  readonly adminRole: string;
  /** Permissions that the back office has checked for this call. */
  readonly adminPermissions: readonly string[];
  readonly tenantCode: string;
  /** Reason or ticket number. */
  readonly reason: string;
}

/** base64url of the JSON of the five fields: the value of `X-Admin-Context`. */
export function encodeOperatorContext(context: OperatorContext): string {
  const json = JSON.stringify({
    admin_user_id: context.adminUserId,
    admin_role: context.adminRole,
    admin_permissions: context.adminPermissions,
    tenant_code: context.tenantCode,
    reason: context.reason,
  });
  return Buffer.from(json).toString('base64url');
}

const MAX_HEADER_CHARS = 4_096;

/** @throws {Refusal} OPERATOR_CONTEXT_INVALID */
export function decodeOperatorContext(header: string): OperatorContext {
  if (!/^[A-Za-z0-9_-]+$/.test(header) || header.length > MAX_HEADER_CHARS) throw invalid('it is not base64url');
  const value = parseObject(header);
  return {
    adminUserId: word(value, 'admin_user_id', 64),
    adminRole: word(value, 'admin_role', 64),
    adminPermissions: permissions(value['admin_permissions']),
    tenantCode: word(value, 'tenant_code', 32),
    reason: word(value, 'reason', 255),
  };
}

function parseObject(header: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(header, 'base64url')));
  } catch {
    throw invalid('it is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('it is not an object');
  return value as Readonly<Record<string, unknown>>;
}

function word(value: Readonly<Record<string, unknown>>, field: string, maxChars: number): string {
  const text = value[field];
  if (typeof text !== 'string' || text.trim() === '' || text.length > maxChars)
    throw invalid(`${field} is missing or longer than ${maxChars}`);
  return text;
}

function permissions(value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.length <= 100;
  if (!isList) throw invalid('admin_permissions is not a list');
  return value.map((permission: unknown) => {
    if (typeof permission !== 'string' || permission === '') throw invalid('admin_permissions holds something that is not a word');
    return permission;
  });
}

function invalid(why: string): Refusal {
  return new Refusal('OPERATOR_CONTEXT_INVALID', `X-Admin-Context: ${why}`);
}
