import { COMMANDS } from '#shared/contract/commands.ts';
import { parseId } from '#shared/contract/ids.ts';
import { markRead } from '#shared/tenant/dialog/mark-read.ts';
import { applyReadStep } from '#shared/tenant/dialog/read-step.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { CommandHandler } from './command.ts';
import { tenantOf } from './tenant-services.ts';
import type { Tenants } from './tenant-services.ts';

/**
 * Command 8: "read up to here".
 *
 * Wire    {"conversation_id", "msg_id"}
 * Answer  {"conversation_id", "msg_id"}: the mark after the call, at or ahead of the given one
 *
 * @see MSG-60 .. MSG-68
 */
export function readMessage({ tenants, log }: { tenants: Tenants; log: Log }): CommandHandler {
  return {
    command: COMMANDS.READ_MESSAGE,
    async handle({ tenant, userId, deviceId, traceId }, body) {
      const { db, lists, wakeNotices } = tenantOf(tenants, tenant);
      const conversationId = parseId(body.conversation_id, 'conversation_id');
      const msgId = parseId(body.msg_id, 'msg_id');
      const { mark } = await markRead({ db, wake: wakeNotices }, { userId, deviceId, conversationId, msgId, traceId });
      // Only the first try: the notice row owns this step, so Redis being away costs nothing but a moment.
      await applyReadStep({ db, lists }, conversationId, userId).catch((error: unknown) => {
        log.debug({ trace_id: traceId, error: error as Error }, 'read step left to the notice');
      });
      return { conversation_id: conversationId.toString(), msg_id: mark.toString() };
    },
  };
}
