import type { Queryable } from '#shared/platform/mysql/database.ts';

/** One call of an internal query, allowed or not. @see QRY-19 */
export interface QueryAudit {
  readonly requestId: string;
  /** As proved, or as claimed where the proof failed; empty when it is no name. */
  readonly service: string;
  /** Empty when no key fitted. */
  readonly keyId: string;
  readonly adminUserId: string;
  readonly adminRole: string;
  readonly reason: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Stable reason word, empty on success. */
  readonly outcome: string;
  readonly realIp: string;
}

const INSERT = `
  INSERT INTO im_internal_query_audit
    (request_id, service, key_id, admin_user_id, admin_role, reason, method, path, status, outcome, real_ip, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const PATH_BYTES = 512;

export async function insertQueryAudit(db: Queryable, audit: QueryAudit): Promise<void> {
  await db.change(INSERT, [
    audit.requestId,
    audit.service,
    audit.keyId,
    Buffer.from(audit.adminUserId).subarray(0, 64),
    Buffer.from(audit.adminRole).subarray(0, 64),
    audit.reason,
    audit.method,
    Buffer.from(audit.path, 'latin1').subarray(0, PATH_BYTES),
    audit.status,
    audit.outcome,
    audit.realIp,
    new Date(),
  ]);
}
