import type { Queryable } from '#shared/platform/mysql/database.ts';

const OPEN = `SELECT COUNT(*) AS open_commands FROM admin_command FORCE INDEX (idx_status) WHERE status IN ('pending', 'running')`;

/** Orders that wait for a result. */
export async function countOpenCommands(db: Queryable): Promise<number> {
  const [row] = await db.select<{ open_commands: string }>(OPEN);
  return Number(row?.open_commands ?? 0);
}
