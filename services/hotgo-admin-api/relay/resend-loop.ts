import { DrainLoop } from '#shared/platform/events/drain-loop.ts';
import { Lease } from '#shared/platform/events/lease.ts';
import { WakeListener } from '#shared/platform/events/wake.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';

export interface ResendLoopDeps {
  readonly db: Database;
  readonly log: Log;
  /** Sends up to `limit` overdue orders again. @returns how many it found */
  readonly resend: (limit: number) => Promise<number>;
}

const BATCH = 50;

/** Looks for orders without a result every `pollMs` (default 5,000), in one process at a time. */
export function resendLoop({ db, log, resend }: ResendLoopDeps, { owner, pollMs = 5_000 }: { owner: string; pollMs?: number }): Part {
  const name = `resend:${db.name}`;
  const lease = new Lease({ db, database: db.name }, { name, owner });
  const drain = async () => ({ hasMore: (await resend(BATCH)) === BATCH });
  return new DrainLoop({ lease, wake: new WakeListener(undefined, name), log, drain }, { name, pollMs });
}
