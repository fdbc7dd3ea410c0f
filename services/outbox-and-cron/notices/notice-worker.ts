import { DrainLoop } from '#shared/platform/events/drain-loop.ts';
import type { Drained } from '#shared/platform/events/drain-loop.ts';
import { isOutage } from '#shared/platform/events/failure.ts';
import { Lease } from '#shared/platform/events/lease.ts';
import { WakeListener } from '#shared/platform/events/wake.ts';
import { runLanes } from '#shared/platform/kafka/lanes.ts';
import { backoff } from '#shared/platform/kafka/partition-retries.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { RedisLogin } from '#shared/platform/redis/redis.ts';
import { noticeWakeKey } from '#shared/tenant/notice/append-notice.ts';
import type { Notice } from '#shared/tenant/notice/deliver-notice.ts';
import { NoticeStore } from './notice-store.ts';
import type { NoticeRow } from './notice-store.ts';

export interface NoticeWorkerDeps {
  readonly db: Database;
  /** Hands one notice over to the processes of its recipients. Safe to repeat. Throws when it must be tried again. */
  readonly deliver: (notice: Notice) => Promise<unknown>;
  readonly redis?: RedisLogin;
  readonly log: Log;
}

export interface NoticeWorkerSettings {
  readonly leaseDatabase: string;
  readonly owner: string;
  readonly batch: number;
  readonly pollMs: number;
  readonly leaseTtlMs?: number;
  /** Default: from 200 ms to a minute. People wait for notices, so the first retry comes soon. */
  readonly retryMs?: readonly number[];
  /** In front of the wake list's key. Default ''. */
  readonly keyBase?: string;
}

const RETRY_MS = [200, 1_000, 5_000, 30_000, 60_000];
/** A notice that fails so often by its own fault is passed by. With RETRY_MS that is after about 25 minutes. */
const MAX_FAILURES = 30;
const LANES = 8;

/**
 * Hands the notices of one tenant over, in the order of their ids per order key, by one process at a time. A row is finished after the
 * hand-over: a crash in between hands it over twice, and never loses it. A notice that fails holds back its own key; when MySQL or Redis
 * is away everything waits and nothing counts. @see OBX-14 @see OBX-17
 */
export function noticeWorker({ db, deliver, redis, log }: NoticeWorkerDeps, settings: NoticeWorkerSettings): Part {
  const { leaseDatabase, owner, batch, pollMs, leaseTtlMs, retryMs = RETRY_MS, keyBase = '' } = settings;
  const name = `notices:${db.name}`;
  const lease = new Lease({ db, database: leaseDatabase }, { name, owner, ...(leaseTtlMs === undefined ? {} : { ttlMs: leaseTtlMs }) });
  const store = new NoticeStore(db);
  const wake = new WakeListener(redis, noticeWakeKey(keyBase, db.name));
  return new DrainLoop({ lease, wake, log, drain: () => drain({ store, lease, deliver, log, retryMs }, batch) }, { name, pollMs });
}

interface DrainDeps {
  readonly store: NoticeStore;
  readonly lease: Lease;
  readonly deliver: (notice: Notice) => Promise<unknown>;
  readonly log: Log;
  readonly retryMs: readonly number[];
}

async function drain(deps: DrainDeps, batch: number): Promise<Drained> {
  const { store, lease } = deps;
  const waiting = await store.waiting();
  const rows = await store.due(batch, [...new Set(waiting.map(({ orderKey }) => orderKey))]);
  const done: bigint[] = [];
  const outages: unknown[] = [];
  const work = async (row: NoticeRow): Promise<boolean> => {
    if (outages.length > 0) return false;
    try {
      await deps.deliver(row);
      logHandedOver(deps.log, row);
      done.push(row.id);
      return true;
    } catch (error) {
      if (isOutage(error)) outages.push(error);
      else await noteFailure(deps, row, error);
      return false;
    }
  };
  await runLanes(rows, ({ orderKey }) => orderKey, LANES, work);
  await store.markDone(lease, done);
  if (outages.length > 0) throw new Error('notices wait for MySQL or Redis', { cause: outages[0] });
  const waitMs = waiting.length === 0 ? undefined : Math.min(...waiting.map((one) => one.waitMs)) + 1;
  // A failure leaves later rows of its key behind, so a round that was not clean looks again at once.
  return { hasMore: rows.length === batch || done.length < rows.length, ...(waitMs === undefined ? {} : { waitMs }) };
}

/** What people are told because of an order is what is looked for by trace_id; marks of reading are many. @see OBS-12 */
function logHandedOver(log: Log, { id, kind, traceId, conversationId, userId }: NoticeRow): void {
  const about = { conversation_id: conversationId.toString(), ...(userId === 0n ? {} : { user_id: userId.toString() }) };
  log[kind === 'EVENT' || kind === 'KICK' ? 'info' : 'debug'](
    { trace_id: traceId, notice_id: id.toString(), kind, ...about },
    'notice handed over',
  );
}

async function noteFailure({ store, lease, log, retryMs }: DrainDeps, row: NoticeRow, error: unknown): Promise<void> {
  const isDead = row.retryCount + 1 >= MAX_FAILURES;
  const reason = error instanceof Error ? error : new Error(String(error));
  log.warn(
    { notice_id: row.id.toString(), kind: row.kind, trace_id: row.traceId, dead: isDead, error: reason },
    'a notice was not handed over',
  );
  await store.markFailed(lease, row.id, { error: reason.message, waitMs: backoff(retryMs, row.retryCount + 1), isDead });
}
