import { createHash } from 'node:crypto';
import { ulid } from 'ulid';

/** Who caused an event. `display_name` is there for back-office people only (KFK-17). */
export interface Actor {
  readonly type: string;
  readonly id: string;
  readonly display_name?: string;
}

export type Payload = Readonly<Record<string, unknown>>;

/** The one form of every Kafka event: these 13 fields, all of them, always. @see KFK-14 @see F-01 */
export interface Envelope {
  /** Opaque, at most 128 bytes; what redelivery is recognised by. */
  readonly event_id: string;
  /** Follows one operation through services, logs and the client's screen (KFK-22). */
  readonly trace_id: string;
  readonly tenant_code: string;
  readonly source_service: string;
  readonly target_service: string;
  readonly event_type: string;
  readonly biz_type: string;
  readonly biz_id: string;
  readonly idempotency_key: string;
  /** Version of the business object the sender has seen; null = no opinion. */
  readonly version: number | null;
  /** ISO-8601 in UTC with milliseconds; empty when the sender did not tell. */
  readonly occurred_at: string;
  readonly actor: Actor;
  readonly payload: Payload;
}

/** The answer to a command: flat, not wrapped in an envelope. @see CMD-18 @see F-02 */
export interface CommandResult {
  readonly event_id: string;
  readonly trace_id: string;
  readonly tenant_code: string;
  /** Empty only when the command carried none; `command_event_id` still names it. */
  readonly command_id: string;
  readonly command_event_id: string;
  readonly status: 'succeeded' | 'failed' | 'dead';
  /** Stable word of `reasons.ts`; empty on success. */
  readonly reason: string;
  readonly message: string;
  readonly result: Payload;
  readonly occurred_at: string;
}

/** Names that services have inside envelopes (KFK-18, X-14). */
export const SERVICE_NAMES = { ADMIN: 'hotgo-admin', IM: 'im-server' } as const;

export type IdKind = 'evt' | 'cmd' | 'req';

/** `evt_01K...`: sortable by time, unique without asking anybody. */
export function newId(kind: IdKind): string {
  return `${kind}_${ulid()}`;
}

export type NewEnvelope = Pick<
  Envelope,
  'tenant_code' | 'source_service' | 'target_service' | 'event_type' | 'biz_type' | 'biz_id' | 'actor' | 'payload'
> &
  Partial<Pick<Envelope, 'event_id' | 'trace_id' | 'idempotency_key' | 'version' | 'occurred_at'>>;

/** Fills in what every event must have, in the order of the fixture, so that a producer can forget none (KFK-19). */
export function buildEnvelope(event: NewEnvelope): Envelope {
  const eventId = event.event_id ?? newId('evt');
  return {
    event_id: eventId,
    trace_id: event.trace_id ?? newId('req'),
    tenant_code: event.tenant_code,
    source_service: event.source_service,
    target_service: event.target_service,
    event_type: event.event_type,
    biz_type: event.biz_type,
    biz_id: event.biz_id,
    idempotency_key: event.idempotency_key ?? commandIdOf(event.payload) ?? eventId,
    version: event.version ?? null,
    occurred_at: event.occurred_at ?? new Date().toISOString(),
    actor: event.actor,
    payload: event.payload,
  };
}

export type NewCommandResult = Omit<CommandResult, 'event_id' | 'occurred_at'>;

export function buildCommandResult(result: NewCommandResult): CommandResult {
  return {
    event_id: newId('evt'),
    trace_id: result.trace_id,
    tenant_code: result.tenant_code,
    command_id: result.command_id,
    command_event_id: result.command_event_id,
    status: result.status,
    reason: result.reason,
    message: result.message,
    result: result.result,
    occurred_at: new Date().toISOString(),
  };
}

/** What is known of an event that cannot be executed, enough to log it and to answer. */
export interface EventIdentity {
  readonly event_id: string;
  readonly trace_id: string;
  readonly tenant_code: string;
  readonly event_type: string;
  readonly command_id: string;
}

/**
 * `unreadable` has no event id or tenant, so nobody can be told; `malformed` has both and gets a final state.
 * `detail` says which field is wrong and never quotes its value.
 */
export type Parsed<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'malformed'; readonly identity: EventIdentity; readonly detail: string }
  | { readonly kind: 'unreadable'; readonly detail: string };

const MAX_WORD_BYTES = 128;

/**
 * Reads a record's value. Required: event_id, tenant_code, event_type, payload; what older producers leave out is filled in:
 * trace_id := event_id, idempotency_key := payload.command_id or event_id, target "im" := "im-server". @see X-14 @see X-15
 */
export function parseEnvelope(bytes: Uint8Array | null): Parsed<Envelope> {
  const fields = readObject(bytes);
  if (typeof fields === 'string') return { kind: 'unreadable', detail: fields };
  const eventId = word(fields['event_id']);
  const tenantCode = word(fields['tenant_code']);
  if (eventId === undefined || tenantCode === undefined)
    return { kind: 'unreadable', detail: 'event_id or tenant_code is missing or too long' };
  const payload = object(fields['payload']);
  const identity: EventIdentity = {
    event_id: eventId,
    tenant_code: tenantCode,
    trace_id: word(fields['trace_id']) ?? eventId,
    event_type: word(fields['event_type']) ?? '',
    command_id: commandIdOf(payload ?? {}) ?? '',
  };
  const detail = fault(fields, identity, payload);
  if (detail !== undefined || payload === undefined) return { kind: 'malformed', identity, detail: detail ?? 'payload is not an object' };
  return { kind: 'ok', value: completeEnvelope(fields, identity, payload) };
}

function fault(fields: Payload, { event_type }: EventIdentity, payload: Payload | undefined): string | undefined {
  if (event_type === '') return 'event_type is missing or too long';
  if (payload === undefined) return 'payload is not an object';
  const texts = ['trace_id', 'source_service', 'target_service', 'biz_type', 'biz_id', 'idempotency_key', 'occurred_at'];
  const wrong = texts.find((name) => !absent(fields[name]) && text(fields[name]) === undefined);
  if (wrong !== undefined) return `${wrong} is not a short text`;
  if (!absent(fields['version']) && !Number.isSafeInteger(fields['version'])) return 'version is not an integer';
  if (!absent(fields['actor']) && actorOf(fields['actor']) === undefined) return 'actor has no type and id';
  return undefined;
}

function completeEnvelope(fields: Payload, identity: EventIdentity, payload: Payload): Envelope {
  const source = text(fields['source_service']) ?? '';
  const target = text(fields['target_service']) ?? '';
  const version = fields['version'];
  return {
    event_id: identity.event_id,
    trace_id: identity.trace_id,
    tenant_code: identity.tenant_code,
    source_service: source,
    target_service: target === 'im' ? SERVICE_NAMES.IM : target,
    event_type: identity.event_type,
    biz_type: text(fields['biz_type']) ?? '',
    biz_id: text(fields['biz_id']) ?? '',
    idempotency_key: word(fields['idempotency_key']) ?? (identity.command_id || identity.event_id),
    version: typeof version === 'number' ? version : null,
    occurred_at: text(fields['occurred_at']) ?? '',
    actor: actorOf(fields['actor']) ?? { type: 'system', id: source },
    payload,
  };
}

/** Reads a record of the result topic. @see CMD-18 */
export function parseCommandResult(bytes: Uint8Array | null): Parsed<CommandResult> {
  const fields = readObject(bytes);
  if (typeof fields === 'string') return { kind: 'unreadable', detail: fields };
  const eventId = word(fields['event_id']);
  const tenantCode = word(fields['tenant_code']);
  if (eventId === undefined || tenantCode === undefined)
    return { kind: 'unreadable', detail: 'event_id or tenant_code is missing or too long' };
  const commandId = word(fields['command_id']) ?? '';
  const commandEventId = word(fields['command_event_id']) ?? '';
  const traceId = word(fields['trace_id']) ?? eventId;
  const identity: EventIdentity = { event_id: eventId, tenant_code: tenantCode, trace_id: traceId, event_type: '', command_id: commandId };
  const status = STATUSES.find((candidate) => candidate === fields['status']);
  if (status === undefined) return { kind: 'malformed', identity, detail: 'status is not succeeded, failed or dead' };
  if (commandId === '' && commandEventId === '')
    return { kind: 'malformed', identity, detail: 'neither command_id nor command_event_id is given' };
  return {
    kind: 'ok',
    value: {
      event_id: eventId,
      trace_id: traceId,
      tenant_code: tenantCode,
      command_id: commandId,
      command_event_id: commandEventId,
      status,
      reason: text(fields['reason']) ?? '',
      message: text(fields['message']) ?? '',
      result: object(fields['result']) ?? {},
      occurred_at: text(fields['occurred_at']) ?? '',
    },
  };
}

const STATUSES = ['succeeded', 'failed', 'dead'] as const;

/** SHA-256 over event type and payload, independent of the order of keys: "the same command" in one comparison. @see X-12 */
export function fingerprint(eventType: string, payload: Payload): Buffer {
  return createHash('sha256').update(eventType).update('\n').update(canonicalJson(payload)).digest();
}

/** JSON with sorted keys and no spaces, so that equal values have equal bytes. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    const fields = object(inner);
    if (fields === undefined) return inner;
    return Object.fromEntries(Object.entries(fields).sort(([left], [right]) => (left < right ? -1 : 1)));
  });
}

/** `payload.command_id` when it is a usable key. */
export function commandIdOf(payload: Payload): string | undefined {
  return word(payload['command_id']);
}

function readObject(bytes: Uint8Array | null): Payload | string {
  if (bytes === null || bytes.byteLength === 0) return 'the record has no value';
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return 'the value is not JSON in UTF-8';
  }
  return object(value) ?? 'the value is not a JSON object';
}

function object(value: unknown): Payload | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Payload) : undefined;
}

/** A non-empty text that fits an id column. */
function word(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= MAX_WORD_BYTES ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && Buffer.byteLength(value) <= 4 * MAX_WORD_BYTES ? value : undefined;
}

function absent(value: unknown): boolean {
  return value === undefined || value === null;
}

function actorOf(value: unknown): Actor | undefined {
  const fields = object(value);
  const type = word(fields?.['type']);
  const id = text(fields?.['id']);
  if (type === undefined || id === undefined) return undefined;
  const name = text(fields?.['display_name']);
  return name === undefined ? { type, id } : { type, id, display_name: name };
}
