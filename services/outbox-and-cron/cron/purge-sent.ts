import type { Clock } from '#shared/platform/clock/clock.ts';
import type { Database } from '#shared/platform/mysql/database.ts';

export interface PurgeSentDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly keepMs: number;
  /** Rows per statement. Default 1,000: a delete that locks more would make writers wait. */
  readonly batch?: number;
}

/** A queue table: which status is the end, and when it was reached. */
interface Queue {
  readonly table: string;
  readonly end: string;
  readonly endedAt: string;
}

const QUEUES: readonly Queue[] = [
  { table: 'im_kafka_outbox', end: 'sent', endedAt: 'sent_at' },
  { table: 'im_business_events_outbox', end: 'done', endedAt: 'done_at' },
];

/** Deletes sent events and finished notices older than `keepMs`, in bounded batches. Dead and waiting ones stay. @returns how many */
export async function purgeSent(deps: PurgeSentDeps): Promise<number> {
  let total = 0;
  for (const queue of QUEUES) total += await purge(deps, queue);
  return total;
}

// Walks the primary key, whose order is about that of the times, and stops at the first row that is younger: no index on the end is
// needed, and only rows that are deleted get locked.
async function purge({ db, clock, keepMs, batch = 1_000 }: PurgeSentDeps, { table, end, endedAt }: Queue): Promise<number> {
  const before = new Date(clock.nowMs() - keepMs);
  let total = 0;
  for (let after = '0'; ;) {
    const rows = await db.select<{ id: string; created_at: Date }>(
      `SELECT id, created_at FROM ${table} FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT ?`,
      [after, batch],
    );
    const old = rows.filter(({ created_at: createdAt }) => createdAt < before).map(({ id }) => id);
    if (old.length > 0) {
      const { rows: deleted } = await db.change(`DELETE FROM ${table} WHERE id IN (?) AND status = ? AND ${endedAt} < ?`, [
        old,
        end,
        before,
      ]);
      total += deleted;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < batch || old.length < rows.length) return total;
    after = last.id;
  }
}
