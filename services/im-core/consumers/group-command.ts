import { buildEnvelope, SERVICE_NAMES } from '#shared/contract/envelope.ts';
import type { Envelope, Payload } from '#shared/contract/envelope.ts';
import { externalId, parseExternalId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { CommandEffect } from '#shared/platform/events/commands.ts';
import type { GroupChanged, GroupCommand, GroupCommandDeps } from '#shared/tenant/group/mute-member.ts';

/** The tenant's side of a group command; undefined cannot be, the command was given to a tenant that exists. */
export type GroupDepsOf = (tenantCode: string) => GroupCommandDeps;

/** What every group command carries. @throws {Refusal} INVALID_ARGUMENT with the field @see X-48 */
export function parseGroupCommand(payload: Payload, envelope: Envelope): GroupCommand {
  return {
    groupId: parseExternalId(payload['topic'], ['grp'], 'topic').id,
    userId: parseExternalId(payload['user_id'], ['usr'], 'user_id').id,
    actorId: parseExternalId(payload['actor_user_id'], ['usr'], 'actor_user_id').id,
    expectedVersion: optionalVersion(payload['version']) ?? envelope.version ?? undefined,
    traceId: envelope.trace_id,
  };
}

function optionalVersion(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new Refusal('INVALID_ARGUMENT', 'version must be an integer', { field: 'version' });
}

/** A text of at most `max` characters. @throws {Refusal} INVALID_ARGUMENT */
export function shortText(payload: Payload, field: string, max: number): string {
  const value = payload[field];
  if (typeof value === 'string' && value.length <= max) return value;
  throw new Refusal('INVALID_ARGUMENT', `${field} must be a text of at most ${max} characters`, { field });
}

const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?(?:Z|[+-]\d\d:\d\d)$/;

/** A time, or null. The field must be there: forgetting it must not mean "for ever". @throws {Refusal} INVALID_ARGUMENT */
export function timeOrNull(payload: Payload, field: string): Date | null {
  const value = payload[field];
  if (value === null) return null;
  const time = typeof value === 'string' && ISO_TIME.test(value) ? new Date(value) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time;
  throw new Refusal('INVALID_ARGUMENT', `${field} must be null or an ISO time with a zone`, { field });
}

/** The answer of a group command and its audit event, which goes out with it (CMD-25, AUD-03). */
export function groupEffect(command: GroupCommand, envelope: Envelope, changed: GroupChanged, details: Payload = {}): CommandEffect {
  const topic = externalId('grp', command.groupId);
  const userId = externalId('usr', command.userId);
  const audit = buildEnvelope({
    trace_id: envelope.trace_id,
    tenant_code: envelope.tenant_code,
    source_service: SERVICE_NAMES.IM,
    target_service: SERVICE_NAMES.ADMIN,
    event_type: envelope.event_type,
    biz_type: 'group',
    biz_id: topic,
    idempotency_key: envelope.idempotency_key,
    version: changed.version,
    actor: envelope.actor,
    payload: { ...envelope.payload, command_event_id: envelope.event_id, outcome: 'succeeded', is_changed: changed.changeId !== undefined },
  });
  return {
    result: { topic, user_id: userId, ...details, version: changed.version, change_id: changed.changeId?.toString() ?? null },
    events: [{ topic: 'im.audit.event', orderKey: `${envelope.tenant_code}:${topic}`, envelope: audit }],
  };
}
