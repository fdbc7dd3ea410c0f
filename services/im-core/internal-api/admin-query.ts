import { Router } from 'express';
import type { Request, RequestHandler } from 'express';
import { INTERNAL_HEADERS } from '#shared/contract/internal-api.ts';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { operatorOf, verifyRequest } from '#shared/platform/hmac/verify-request.ts';
import type { Caller, VerifyDeps } from '#shared/platform/hmac/verify-request.ts';
import { answer, noSuchPath } from '#shared/platform/http/answer.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { incomingRequest } from '#shared/platform/http/signed-request.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { TenantDatabases } from '#shared/tenant/user/user-store.ts';
import { insertQueryAudit } from './query-audit-store.ts';
import type { QueryAudit } from './query-audit-store.ts';

export interface AdminQueryDeps {
  /** `internal_api.enabled`; without it the paths do not exist. @see QRY-11 */
  readonly enabled: boolean;
  readonly verify: VerifyDeps;
  readonly databases: TenantDatabases;
  readonly log: Log;
}

/** One question that the back office may ask. Read-only, of one tenant. @see QRY-01 */
export interface AdminQuery {
  /** Express path below `/internal/admin-query`; begins with `/tenants/:tenantCode/`. */
  readonly path: `/tenants/:tenantCode/${string}`;
  /** Which permission the operator must have. */
  readonly permission: string;
  run(db: Database, request: Request, tenant: string): Promise<object>;
}

/**
 * `/internal/admin-query/*`: signature, operator, tenant, permission, then the question, and an audit row before any answer leaves.
 * What cannot be audited is not answered.
 *
 * @see SIG-17 @see QRY-17 .. QRY-19
 */
export function adminQueryRouter(deps: AdminQueryDeps, queries: readonly AdminQuery[]): Router {
  const router = Router();
  if (!deps.enabled) router.use(noSuchPath);
  for (const query of queries) router.get(query.path, handle(deps, query));
  return router;
}

/** What is learned about a call step by step, so that a refusal's row says as much as was known. */
interface Findings {
  caller?: Caller;
  operator?: OperatorContext;
}

function handle(deps: AdminQueryDeps, query: AdminQuery): RequestHandler<{ tenantCode: string }> {
  return async (request, response) => {
    const findings: Findings = {};
    const { tenantCode } = request.params;
    const db = deps.databases.get(tenantCode);
    let data: object;
    try {
      data = await ask(deps, query, request, findings);
    } catch (error) {
      await recordRefusal(deps, db, request, findings, error);
      throw error;
    }
    if (db !== undefined) await insertQueryAudit(db, auditOf(request, findings, 200, ''));
    answer(request, response, data);
  };
}

async function ask(deps: AdminQueryDeps, query: AdminQuery, request: Request<{ tenantCode: string }>, findings: Findings): Promise<object> {
  const incoming = incomingRequest(request);
  findings.caller = await verifyRequest(deps.verify, incoming, 'admin_query');
  findings.operator = operatorOf(incoming);
  const { tenantCode } = request.params;
  assertMay(findings.operator, tenantCode, query.permission);
  const db = deps.databases.get(tenantCode);
  if (db === undefined) throw new Refusal('RESOURCE_NOT_FOUND', 'no such tenant');
  return query.run(db, request, tenantCode);
}

/** The second authorisation: what the back office has checked for another tenant or another question opens nothing here. @see QRY-18 */
function assertMay(operator: OperatorContext, tenantCode: string, permission: string): void {
  if (operator.tenantCode !== tenantCode) throw new Refusal('FORBIDDEN', 'the operator context is for another tenant');
  if (!operator.adminPermissions.includes(permission))
    throw new Refusal('FORBIDDEN', `this needs the permission ${permission}`, { permission });
}

/** A refusal stands even when its row cannot be written; the log has it then. */
async function recordRefusal(
  deps: AdminQueryDeps,
  db: Database | undefined,
  request: Request,
  findings: Findings,
  error: unknown,
): Promise<void> {
  const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL');
  const audit = auditOf(request, findings, refusal.httpStatus, refusal.reason);
  const { requestId: request_id, realIp: real_ip, service, outcome } = audit;
  try {
    if (db === undefined) deps.log.warn({ request_id, real_ip, service, outcome }, 'internal query of an unknown tenant refused');
    else await insertQueryAudit(db, audit);
  } catch (failure) {
    const cause = failure instanceof Error ? failure : new Error(String(failure));
    deps.log.error({ error: cause, request_id, real_ip, service, outcome }, 'internal query refused, audit row not written');
  }
}

function auditOf(request: Request, { caller, operator }: Findings, status: number, outcome: string): QueryAudit {
  const { requestId, realIp } = contextOf(request);
  const claimed = request.get(INTERNAL_HEADERS.service) ?? '';
  return {
    requestId,
    service: caller?.service ?? (/^[a-z][a-z0-9-]{0,62}$/.test(claimed) ? claimed : ''),
    keyId: caller?.keyId ?? '',
    adminUserId: operator?.adminUserId ?? '',
    adminRole: operator?.adminRole ?? '',
    reason: operator?.reason ?? '',
    method: request.method,
    path: request.originalUrl,
    status,
    outcome,
    realIp,
  };
}
