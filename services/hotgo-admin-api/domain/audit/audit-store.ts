import type { Queryable } from '#shared/platform/mysql/database.ts';

/** What an administrator did or tried. */
export interface AdminAction {
  /** `0` when nobody was recognised. */
  readonly adminId: string;
  readonly adminName: string;
  /** login | command.create | command.read | command.list | group.read */
  readonly action: string;
  readonly tenantCode?: string;
  readonly object?: string;
  /** Stable reason word, empty on success. */
  readonly outcome: string;
  readonly detail?: string;
  readonly traceId: string;
  readonly realIp: string;
}

const INSERT = `
  INSERT INTO admin_audit_log (admin_id, admin_name, action, tenant_code, object, outcome, detail, trace_id, real_ip, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NOW(3))`;

/** Adds a row; in the transaction of the action where there is one. @see SIG-16 */
export async function insertAdminAction(db: Queryable, action: AdminAction): Promise<void> {
  await db.change(INSERT, [
    action.adminId,
    Array.from(action.adminName).slice(0, 64).join(''),
    action.action,
    Buffer.from(action.tenantCode ?? '').subarray(0, 32),
    Buffer.from(action.object ?? '').subarray(0, 255),
    action.outcome,
    (action.detail ?? '').slice(0, 500),
    action.traceId,
    action.realIp,
  ]);
}
