import type { CommandResult } from '#shared/contract/envelope.ts';
import type { OutboxTable } from '#shared/platform/events/outbox.ts';
import type { Database, Queryable, Tx } from '#shared/platform/mysql/database.ts';

/** What a result did to the ledger: it ended an order, came for one that had ended, or for none of ours. */
export type Applied = 'ended' | 'late' | 'unknown';

const RUNNING = `UPDATE admin_command SET status = 'running', updated_at = NOW(3) WHERE event_id IN (?) AND status = 'pending'`;
const END = `
  UPDATE admin_command
     SET status = ?, reason = ?, message = ?, result = ?, finished_at = NOW(3), updated_at = NOW(3), next_resend_at = NULL
   WHERE tenant_code = ? AND event_id = ? AND status IN ('pending', 'running')`;
const EXISTS = 'SELECT status FROM admin_command WHERE tenant_code = ? AND event_id = ?';
const EVENT_OF = 'SELECT event_id FROM admin_command WHERE tenant_code = ? AND command_id = ?';

/** Kafka has the orders. Only pending ones change: a result may have been quicker. @see CMD-12 */
export async function markRunning(db: Queryable, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length > 0) await db.change(RUNNING, [eventIds]);
}

/**
 * Writes a result into the ledger. A final order stays as it is, so late and repeated results do no harm. The event id decides which order
 * is meant: a result of another event with the same command id is the answer to somebody else. @see CMD-11 @see CMD-19
 */
export async function applyResult(tx: Tx, answer: CommandResult): Promise<Applied> {
  const { tenant_code: tenant, status, reason, message, result } = answer;
  const eventId = answer.command_event_id === '' ? await eventOf(tx, tenant, answer.command_id) : answer.command_event_id;
  if (eventId === undefined) return 'unknown';
  const { rows } = await tx.change(END, [
    status,
    Buffer.from(reason).subarray(0, 64),
    message.slice(0, 500),
    Buffer.from(JSON.stringify(result)),
    tenant,
    eventId,
  ]);
  if (rows === 1) return 'ended';
  const [row] = await tx.select<{ status: string }>(EXISTS, [tenant, eventId]);
  return row === undefined ? 'unknown' : 'late';
}

async function eventOf(tx: Tx, tenant: string, commandId: string): Promise<string | undefined> {
  const [row] = await tx.select<{ event_id: Buffer }>(EVENT_OF, [tenant, commandId]);
  return row?.event_id.toString();
}

/** Waits before an order without a result is sent again (ms); doubled each time. */
const RESEND_MS = { first: 120_000, most: 3_600_000 } as const;

const OVERDUE = `
  SELECT id, event_id, attempts FROM admin_command FORCE INDEX (idx_resend)
   WHERE next_resend_at <= ? AND status IN ('pending', 'running') ORDER BY next_resend_at LIMIT ?`;
const TAKE = `
  UPDATE admin_command SET attempts = attempts + 1, next_resend_at = ?, updated_at = NOW(3)
   WHERE id = ? AND attempts = ? AND status IN ('pending', 'running')`;
// Also what the broker refused for good: an order that it never takes is tried for ever, and not forgotten.
const QUEUE = `
  UPDATE admin_outbox SET status = 'pending', next_retry_at = NOW(3), sent_at = NULL WHERE event_id = ? AND status IN ('sent', 'dead')`;

export interface ResendDeps {
  readonly db: Database;
  readonly outbox: OutboxTable;
  readonly nowMs: () => number;
}

/**
 * Sends orders again that have had no result for two minutes, then four, ... for ever: the original envelope, in the original place of its
 * object's order. im-core answers a known order with the stored result, so a lost answer comes back and nothing runs twice.
 *
 * @returns how many were queued or still wait in the outbox
 */
export async function resendOverdue({ db, outbox, nowMs }: ResendDeps, limit: number): Promise<number> {
  const rows = await db.select<{ id: string; event_id: Buffer; attempts: number }>(OVERDUE, [new Date(nowMs()), limit]);
  for (const { id, event_id: eventId, attempts } of rows) {
    const waitMs = Math.min(RESEND_MS.first * 2 ** Math.min(attempts, 10), RESEND_MS.most);
    await db.transaction(async (tx) => {
      const { rows: taken } = await tx.change(TAKE, [new Date(nowMs() + waitMs), id, attempts]);
      if (taken === 0) return;
      await tx.change(QUEUE, [eventId]);
      tx.afterCommit(() => outbox.wake(tx.database));
    });
  }
  return rows.length;
}
