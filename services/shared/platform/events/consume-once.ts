import type { Database, Tx } from '../mysql/database.ts';
import type { ConsumedEvent, ConsumeLog, SeenEvent } from './consume-log.ts';

/** How an event ended: executed, or final without effect. */
export type Done = { readonly status: 'succeeded' } | { readonly status: 'dead'; readonly error: string };

export interface Work {
  /** The business change and its outgoing events. Throwing undoes everything, the claim included. */
  execute(tx: Tx): Promise<Done>;
  /** The event is finished already. For answering again; default: nothing. */
  again?(tx: Tx, seen: SeenEvent): Promise<void>;
}

/**
 * Does the work of one event, its proof and its outgoing events in one transaction, or nothing. Commit the offset only after this has
 * resolved: if the process dies before, the redelivery finds the proof and does nothing.
 * @see IDM-04 @see IDM-12
 */
export async function consumeOnce(
  { db, log }: { db: Database; log: ConsumeLog },
  event: ConsumedEvent,
  work: Work,
): Promise<'executed' | 'seen'> {
  return db.transaction(async (tx) => {
    const seen = await log.claim(tx, event);
    if (seen !== undefined) {
      await work.again?.(tx, seen);
      return 'seen';
    }
    await log.finish(tx, event.eventId, await work.execute(tx));
    return 'executed';
  });
}
