import type { Metrics, Reading } from '../metrics/metrics.ts';
import { remember } from '../metrics/remember.ts';
import type { Backlog } from './relay-store.ts';

/** A table of work and how to look at it; the key is its tenant, or '' where there is only one. */
export type Backlogs = ReadonlyMap<string, () => Promise<Backlog>>;

/**
 * Shows what waits in tables of work: `<name>_pending_rows` and `<name>_oldest_seconds`, by tenant.
 *
 * @returns the sums, for readiness and `status`: `<name>_waiting` rows, `<name>_oldest_seconds` of the oldest; empty while the database is away
 */
export function watchBacklog(metrics: Metrics, name: string, backlogs: Backlogs): () => Promise<Readonly<Record<string, number>>> {
  const read = remember(async () =>
    Promise.all([...backlogs].map(async ([tenant, look]) => ({ labels: { tenant }, backlog: await look() }))),
  );
  const readings = (figure: keyof Backlog) => async (): Promise<readonly Reading[]> =>
    (await read()).map(({ labels, backlog }) => ({ labels, value: backlog[figure] }));
  metrics.watch(`${name}_pending_rows`, 'Rows that wait to be worked off.', ['tenant'], readings('rows'));
  metrics.watch(`${name}_oldest_seconds`, 'Age of the oldest row that waits.', ['tenant'], readings('oldestSeconds'));
  return async () => {
    const all = await read().catch(() => undefined);
    if (all === undefined) return {};
    return {
      [`${name}_waiting`]: all.reduce((sum, { backlog }) => sum + backlog.rows, 0),
      [`${name}_oldest_seconds`]: Math.max(0, ...all.map(({ backlog }) => backlog.oldestSeconds)),
    };
  };
}
