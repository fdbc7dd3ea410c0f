import { COMMANDS } from '#shared/contract/commands.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { CommandHandler } from './command.ts';
import { deviceKey } from './issued-ids.ts';
import type { IssuedIds } from './issued-ids.ts';

/** Command 3: an id in advance, for a client that shows its message before it is stored. @see MSG-07 */
export function generateMsgId({ ids, issued }: { ids: IdGenerator; issued: IssuedIds }): CommandHandler {
  return {
    command: COMMANDS.GENERATE_MSG_ID,
    handle(context) {
      const id = ids.next();
      issued.issued(deviceKey(context), id);
      return Promise.resolve({ msg_id: id.toString() });
    },
  };
}
