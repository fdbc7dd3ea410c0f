import type { CommandHandler } from '#shared/platform/events/commands.ts';
import { muteMember, unmuteMember } from '#shared/tenant/group/mute-member.ts';
import type { GroupCommand, MuteMember } from '#shared/tenant/group/mute-member.ts';
import { groupEffect, parseGroupCommand, shortText, timeOrNull } from './group-command.ts';
import type { GroupDepsOf } from './group-command.ts';

/** Characters that the mute table keeps. */
const MAX_REASON = 255;

/** `group.member.mute`: silences one member until `expires_at`, or until it is lifted when that is null. @see CMD-39 */
export function muteMemberCommand(depsOf: GroupDepsOf): CommandHandler<MuteMember> {
  return {
    eventType: 'group.member.mute',
    parse: (payload, envelope) => ({
      ...parseGroupCommand(payload, envelope),
      expiresAt: timeOrNull(payload, 'expires_at'),
      reason: shortText(payload, 'reason', MAX_REASON),
    }),
    execute: async (tx, command, envelope) => {
      const changed = await muteMember(depsOf(envelope.tenant_code), tx, command);
      return groupEffect(command, envelope, changed, { expires_at: command.expiresAt?.toISOString() ?? null });
    },
  };
}

/** `group.member.unmute`. @see CMD-42 */
export function unmuteMemberCommand(depsOf: GroupDepsOf): CommandHandler<GroupCommand> {
  return {
    eventType: 'group.member.unmute',
    parse: parseGroupCommand,
    execute: async (tx, command, envelope) => groupEffect(command, envelope, await unmuteMember(depsOf(envelope.tenant_code), tx, command)),
  };
}
