import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { DialogLists } from '../deliver/dialog-lists.ts';
import { readMarkOf } from './read-mark.ts';
import { unreadAt } from './unread-count.ts';

/** Tries before the notice row's own retry takes over; each means that a change was applied in between. */
const TRIES = 20;

/**
 * Brings a user's unread counter in Redis to what MySQL says about his read mark, at the position where the counter stands. Idempotent:
 * whoever comes later finds the same. On a broken chain only the mark is raised; the rebuild compares it.
 *
 * @returns false when it did not come to rest within its tries
 */
export async function applyReadStep(
  { db, lists }: { db: Database; lists: DialogLists },
  conversationId: bigint,
  userId: bigint,
): Promise<boolean> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const position = await lists.readPosition(conversationId, userId);
    const mark = await readMarkOf(db, conversationId, userId);
    if (mark === undefined) return true;
    const unread = position === undefined ? 0 : await unreadAt(db, conversationId, userId, mark, position);
    if (await lists.applyRead({ conversationId, userId, position, mark, unread })) return true;
    await pause(attempt);
  }
  return false;
}
