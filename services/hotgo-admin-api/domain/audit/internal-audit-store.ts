import type { Queryable } from '#shared/platform/mysql/database.ts';

/** One call of /internal/im-config, allowed or not. */
export interface InternalCall {
  readonly requestId: string;
  /** As proved, or as claimed where the proof failed; empty when it is no name. */
  readonly service: string;
  /** Empty when no key fitted. */
  readonly keyId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** Stable reason word, empty on success. */
  readonly outcome: string;
  readonly realIp: string;
}

const INSERT = `
  INSERT INTO admin_internal_audit (request_id, service, key_id, method, path, status, outcome, real_ip, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, NOW(3))`;
const PATH_BYTES = 512;

/** @see SIG-16 */
export async function insertInternalCall(db: Queryable, call: InternalCall): Promise<void> {
  await db.change(INSERT, [
    call.requestId,
    call.service,
    call.keyId,
    call.method,
    Buffer.from(call.path, 'latin1').subarray(0, PATH_BYTES),
    call.status,
    call.outcome,
    call.realIp,
  ]);
}
