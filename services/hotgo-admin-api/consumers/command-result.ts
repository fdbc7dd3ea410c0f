import { parseCommandResult } from '#shared/contract/envelope.ts';
import type { CommandResult } from '#shared/contract/envelope.ts';
import type { Inbox } from '#shared/platform/events/receive.ts';
import { applyResult } from '../domain/command/ledger.ts';

/**
 * `im.admin.command.result`: ends orders in the ledger. A result that cannot be used is left as a dead row of the consume log; the order
 * behind it stays open and is sent again. @see CMD-10 @see CMD-11
 */
export const commandResultInbox: Inbox<CommandResult> = {
  parse: parseCommandResult,
  identify: ({ event_id, trace_id, tenant_code, command_id }) => ({
    event_id,
    trace_id,
    tenant_code,
    command_id,
    event_type: 'command.result',
  }),
  execute: async (tx, result) => {
    const applied = await applyResult(tx, result);
    return applied === 'unknown'
      ? { status: 'dead', error: `no order ${result.command_id} ${result.command_event_id}` }
      : { status: 'succeeded' };
  },
  giveUp: () => Promise.resolve(),
};
