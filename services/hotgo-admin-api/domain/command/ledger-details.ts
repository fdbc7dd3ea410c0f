import type { Queryable } from '#shared/platform/mysql/database.ts';

const FIGURES = `
  SELECT (SELECT COUNT(*) FROM admin_command WHERE status IN ('pending','running')) AS open_commands,
         (SELECT COUNT(*) FROM admin_outbox WHERE status IN ('pending','failed')) AS outbox_waiting,
         (SELECT COALESCE(TIMESTAMPDIFF(SECOND, MIN(created_at), UTC_TIMESTAMP(3)), 0) FROM admin_outbox WHERE status IN ('pending','failed'))
           AS outbox_oldest_seconds`;

/** How much waits, for `/readyz` and `status`. Empty while the database is away: readiness says that already. */
export async function ledgerDetails(db: Queryable): Promise<Readonly<Record<string, number>>> {
  const [row] = await db.select<Record<string, string>>(FIGURES).catch(() => []);
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, Number(value)]));
}
