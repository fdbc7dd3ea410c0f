import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import type { LoginDeps } from '#shared/tenant/user/log-in.ts';
import type { HttpLimits } from './rate-limits.ts';

/** What the client HTTP API needs of the process. */
export interface PublicApiDeps {
  readonly login: LoginDeps;
  readonly registration: 'open' | 'closed';
  readonly limits: HttpLimits;
  readonly ids: IdGenerator;
  readonly log: Log;
  /** Queues jobs for delivery. May fail: the change is committed, and the sweeper repairs what is lost. */
  readonly enqueue: (jobs: readonly DeliverJob[]) => Promise<void>;
  /** Wakes the notice worker of a tenant. */
  readonly wakeNotices: (tenant: string) => void;
}

/** The needs of a rule that runs in one tenant. */
export interface TenantDeps {
  readonly db: Database;
  readonly tenant: string;
  readonly ids: IdGenerator;
  readonly enqueue: (jobs: readonly DeliverJob[]) => Promise<void>;
  readonly wakeNotices: () => void;
}

/** @throws {Error} for a tenant that an accepted token names but this process does not have: a bug in the wiring */
export function tenantDeps(deps: PublicApiDeps, tenant: string): TenantDeps {
  const db = deps.login.databases.get(tenant);
  if (db === undefined) throw new Error(`no database for tenant ${tenant}`);
  const enqueue = (jobs: readonly DeliverJob[]): Promise<void> =>
    deps.enqueue(jobs).catch((error: unknown) => {
      deps.log.warn(
        { error: error instanceof Error ? error : new Error(String(error)), jobs: jobs.length },
        'jobs not queued; the sweeper will',
      );
    });
  return { db, tenant, ids: deps.ids, enqueue, wakeNotices: () => deps.wakeNotices(tenant) };
}
