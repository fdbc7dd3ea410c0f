import { z } from 'zod';
import { externalId, parseExternalId } from '#shared/contract/ids.ts';
import type { ExternalKind } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Permission } from '../administrator/roles.ts';

/** What an administrator may order: which fields it takes, which object it is about, which permission it needs. */
export interface CommandKind {
  readonly eventType: string;
  readonly bizType: string;
  readonly permission: Permission;
  /** Strict: an unknown field is refused, not ignored. */
  readonly payload: z.ZodType<Readonly<Record<string, unknown>>>;
  /** The object in a payload that was accepted. */
  bizId(payload: Readonly<Record<string, unknown>>): string;
}

function external(kind: ExternalKind, field: string) {
  return z.unknown().transform((value) => externalId(kind, parseExternalId(value, [kind], field).id));
}

const topic = external('grp', 'topic');
const user = external('usr', 'user_id');
/** In UTC with a `Z`, made the one form that has milliseconds; null = until it is lifted. */
const expiresAt = z.iso
  .datetime()
  .transform((text) => new Date(text).toISOString())
  .nullable();
const topicOf = (payload: Readonly<Record<string, unknown>>): string => String(payload['topic']);

export const COMMAND_KINDS: readonly CommandKind[] = [
  {
    // @see CMD-39
    eventType: 'group.member.mute',
    bizType: 'group',
    permission: 'group.govern',
    payload: z.strictObject({ topic, user_id: user, reason: z.string().max(255).default(''), expires_at: expiresAt.default(null) }),
    bizId: topicOf,
  },
  {
    // @see CMD-42
    eventType: 'group.member.unmute',
    bizType: 'group',
    permission: 'group.govern',
    payload: z.strictObject({ topic, user_id: user }),
    bizId: topicOf,
  },
];

/** @throws {Refusal} INVALID_ARGUMENT */
export function commandKind(eventType: string): CommandKind {
  const kind = COMMAND_KINDS.find((candidate) => candidate.eventType === eventType);
  if (kind === undefined) {
    throw new Refusal('INVALID_ARGUMENT', `event_type is one of ${COMMAND_KINDS.map((candidate) => candidate.eventType).join(', ')}`, {
      field: 'event_type',
    });
  }
  return kind;
}
