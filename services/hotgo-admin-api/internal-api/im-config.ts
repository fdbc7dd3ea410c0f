import { Router } from 'express';
import type { Request, RequestHandler } from 'express';
import { INTERNAL_HEADERS } from '#shared/contract/internal-api.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { verifyRequest } from '#shared/platform/hmac/verify-request.ts';
import type { Caller, VerifyDeps } from '#shared/platform/hmac/verify-request.ts';
import { answer, noSuchPath } from '#shared/platform/http/answer.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { incomingRequest } from '#shared/platform/http/signed-request.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Queryable } from '#shared/platform/mysql/database.ts';
import { insertInternalCall } from '../domain/audit/internal-audit-store.ts';
import type { InternalCall } from '../domain/audit/internal-audit-store.ts';

export interface ImConfigDeps {
  /** `admin_internal_api.enabled`; without it the paths do not exist. */
  readonly enabled: boolean;
  readonly verify: VerifyDeps;
  readonly db: Queryable;
  readonly log: Log;
}

/** One question that a service may ask. Read-only; it gives away nothing but what the caller needs to run. @see CFG-40 @see CFG-41 */
export interface ConfigQuery {
  /** Express path below `/internal/im-config`. */
  readonly path: string;
  run(request: Request): Promise<object>;
}

/**
 * `/internal/im-config/*`: who calls and whether he may, and no operator; then the question, and an audit row before any answer leaves.
 * What cannot be audited is not answered.
 *
 * @see CFG-42 @see SIG-16
 */
export function imConfigRouter(deps: ImConfigDeps, queries: readonly ConfigQuery[]): Router {
  const router = Router();
  if (!deps.enabled) router.use(noSuchPath);
  for (const query of queries) router.get(query.path, handle(deps, query));
  return router;
}

function handle(deps: ImConfigDeps, query: ConfigQuery): RequestHandler {
  return async (request, response) => {
    // Learned step by step, so that a refusal's row says as much as was known.
    const findings: { caller?: Caller } = {};
    let data: object;
    try {
      findings.caller = await verifyRequest(deps.verify, incomingRequest(request), 'im_config');
      data = await query.run(request);
    } catch (error) {
      await recordRefusal(deps, request, findings.caller, error);
      throw error;
    }
    await insertInternalCall(deps.db, callOf(request, findings.caller, { status: 200, outcome: '' }));
    answer(request, response, data);
  };
}

/** A refusal stands even when its row cannot be written; the log has it then. */
async function recordRefusal({ db, log }: ImConfigDeps, request: Request, caller: Caller | undefined, error: unknown): Promise<void> {
  const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL');
  const call = callOf(request, caller, { status: refusal.httpStatus, outcome: refusal.reason });
  try {
    await insertInternalCall(db, call);
  } catch (failure) {
    const { requestId: request_id, realIp: real_ip, service, outcome } = call;
    const cause = failure instanceof Error ? failure : new Error(String(failure));
    log.error({ error: cause, request_id, real_ip, service, outcome }, 'configuration request refused, audit row not written');
  }
}

function callOf(request: Request, caller: Caller | undefined, end: Pick<InternalCall, 'status' | 'outcome'>): InternalCall {
  const { requestId, realIp } = contextOf(request);
  const claimed = request.get(INTERNAL_HEADERS.service) ?? '';
  return {
    requestId,
    service: caller?.service ?? (/^[a-z][a-z0-9-]{0,62}$/.test(claimed) ? claimed : ''),
    keyId: caller?.keyId ?? '',
    method: request.method,
    path: request.originalUrl,
    realIp,
    ...end,
  };
}
