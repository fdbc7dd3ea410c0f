import type { Database } from '#shared/platform/mysql/database.ts';

/** Up to where every conversation was seen in step with Redis, in one epoch of it. */
export interface SweepMark {
  readonly epoch: string;
  /** Conversations whose last change is before this need not be looked at again. */
  readonly at: Date;
}

/** A conversation with something to deliver. */
export interface Changed {
  readonly conversationId: bigint;
  readonly head: bigint;
  readonly changedAt: Date;
}

const NAME = 'sweep_mark';
const READ = 'SELECT value FROM t_tenant_state WHERE name = ?';
const WRITE = 'INSERT INTO t_tenant_state (name, value) VALUES (?, ?) AS n ON DUPLICATE KEY UPDATE value = n.value';
const WALK = `
  SELECT id, last_change_id, last_change_at FROM t_conversations FORCE INDEX (idx_last_change)
   WHERE last_change_at > ? OR (last_change_at = ? AND id > ?) ORDER BY last_change_at, id LIMIT ?`;

/** The stored mark; the beginning of time for a tenant that was never swept. */
export async function readSweepMark(db: Database): Promise<SweepMark> {
  const [row] = await db.select<{ value: Buffer }>(READ, [NAME]);
  const [epoch = '', at = '0'] = row?.value.toString('latin1').split(' ') ?? [];
  return { epoch, at: new Date(Number(at)) };
}

export async function writeSweepMark(db: Database, { epoch, at }: SweepMark): Promise<void> {
  await db.change(WRITE, [NAME, Buffer.from(`${epoch} ${String(at.getTime())}`)]);
}

/** The next conversations in the order of their last change, behind (at, id). */
export async function changedAfter(db: Database, at: Date, id: bigint, limit: number): Promise<readonly Changed[]> {
  const rows = await db.select<{ id: string; last_change_id: string; last_change_at: Date }>(WALK, [at, at, id, limit]);
  return rows.map((row) => ({ conversationId: BigInt(row.id), head: BigInt(row.last_change_id), changedAt: row.last_change_at }));
}
