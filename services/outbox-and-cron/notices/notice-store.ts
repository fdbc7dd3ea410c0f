import type { Lease } from '#shared/platform/events/lease.ts';
import { LeaseLost } from '#shared/platform/events/lease.ts';
import type { Backlog } from '#shared/platform/events/relay-store.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { NoticeKind } from '#shared/tenant/notice/append-notice.ts';
import type { Notice } from '#shared/tenant/notice/deliver-notice.ts';

export interface NoticeRow extends Notice {
  readonly id: bigint;
  readonly orderKey: string;
  readonly traceId: string;
  readonly retryCount: number;
}

export interface WaitingNotice {
  readonly orderKey: string;
  readonly waitMs: number;
}

interface Row {
  readonly id: string;
  readonly kind: NoticeKind;
  readonly order_key: Buffer;
  readonly conversation_id: string;
  readonly user_id: string;
  readonly exclude_device: string;
  readonly payload: Buffer;
  readonly trace_id: Buffer;
  readonly retry_count: number;
}

// A notice that never failed is due at once, whatever the inserting process's clock says.
const WAITING = `
  SELECT order_key, TIMESTAMPDIFF(MICROSECOND, NOW(3), next_retry_at) DIV 1000 AS wait_ms FROM im_business_events_outbox FORCE INDEX (k_claim)
   WHERE status = 'pending' AND retry_count > 0 AND next_retry_at > NOW(3)`;
const DUE = `
  SELECT id, kind, order_key, conversation_id, user_id, exclude_device, payload, trace_id, retry_count
    FROM im_business_events_outbox FORCE INDEX (k_claim) WHERE status = 'pending'`;
const BACKLOG = `
  SELECT (SELECT COUNT(*) FROM im_business_events_outbox FORCE INDEX (k_claim) WHERE status = 'pending') AS waiting,
         (SELECT TIMESTAMPDIFF(SECOND, created_at, NOW(3)) FROM im_business_events_outbox FORCE INDEX (k_claim)
           WHERE status = 'pending' ORDER BY id LIMIT 1) AS seconds`;
const MAX_ERROR = 500;

/** Statements of the notices of one tenant. Reads are plain; every change compares the lease. */
export class NoticeStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Notices that failed and are not due yet; each holds back the later ones of its key. */
  async waiting(): Promise<readonly WaitingNotice[]> {
    const rows = await this.#db.select<{ order_key: Buffer; wait_ms: string | number }>(WAITING);
    return rows.map(({ order_key, wait_ms }) => ({ orderKey: order_key.toString(), waitMs: Math.max(Number(wait_ms), 0) }));
  }

  /** What still has to be handed over. */
  async backlog(): Promise<Backlog> {
    const [row] = await this.#db.select<{ waiting: string; seconds: string | null }>(BACKLOG);
    return { rows: Number(row?.waiting ?? 0), oldestSeconds: Math.max(Number(row?.seconds ?? 0), 0) };
  }

  /** Oldest first, without the keys that must wait. */
  async due(limit: number, heldKeys: readonly string[]): Promise<readonly NoticeRow[]> {
    const notHeld = heldKeys.length === 0 ? '' : ' AND order_key NOT IN (?)';
    const rows = await this.#db.select<Row>(`${DUE}${notHeld} ORDER BY id LIMIT ?`, heldKeys.length === 0 ? [limit] : [heldKeys, limit]);
    return rows.map((row) => ({
      id: BigInt(row.id),
      kind: row.kind,
      orderKey: row.order_key.toString(),
      conversationId: BigInt(row.conversation_id),
      userId: BigInt(row.user_id),
      excludeDevice: BigInt(row.exclude_device),
      payload: row.payload.toString(),
      traceId: row.trace_id.toString(),
      retryCount: row.retry_count,
    }));
  }

  /** @throws {LeaseLost} when nothing was marked: another worker has taken over and will hand them over again */
  async markDone(lease: Lease, ids: readonly bigint[]): Promise<void> {
    if (ids.length === 0) return;
    const { rows } = await this.#db.change(
      `UPDATE im_business_events_outbox o ${lease.isOurs} SET o.status = 'done', o.done_at = NOW(3), o.last_error = ''
        WHERE o.id IN (?) AND o.status = 'pending'`,
      [...lease.key, ids],
    );
    if (rows === 0) throw new LeaseLost(`the lease ${lease.name} was lost before ${ids.length} notices were marked`);
  }

  /** A dead notice frees its key; operators see the row. */
  async markFailed(lease: Lease, id: bigint, { error, waitMs, isDead }: { error: string; waitMs: number; isDead: boolean }): Promise<void> {
    await this.#db.change(
      `UPDATE im_business_events_outbox o ${lease.isOurs}
          SET o.status = ?, o.retry_count = o.retry_count + 1, o.last_error = ?, o.next_retry_at = NOW(3) + INTERVAL ? MICROSECOND
        WHERE o.id = ? AND o.status = 'pending'`,
      [...lease.key, isDead ? 'dead' : 'pending', error.slice(0, MAX_ERROR), waitMs * 1_000, id],
    );
  }
}
