import type { Request, RequestHandler } from 'express';
import { Refusal } from '#shared/contract/reasons.ts';
import { answer } from '#shared/platform/http/answer.ts';
import { bearerToken } from '#shared/platform/http/parse-request.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { verifyAdministrator } from '../domain/administrator/administrator.ts';
import type { Administrator } from '../domain/administrator/administrator.ts';
import type { Permission } from '../domain/administrator/roles.ts';
import { insertAdminAction } from '../domain/audit/audit-store.ts';
import type { AdminApiDeps } from './deps.ts';

export interface ActionResult {
  readonly data: object;
  /** Default 200. */
  readonly status?: number;
  /** The audit row is written already, in the transaction of the action. */
  readonly isAudited?: boolean;
}

/** Something an administrator does: a stable name for the audit, a permission, and the doing. */
export interface Action<Params extends Readonly<Record<string, string>>> {
  readonly name: string;
  readonly permission?: Permission;
  /** What the audit row names as the object. */
  object?(params: Params): string;
  run(request: Request<Params>, administrator: Administrator): Promise<ActionResult>;
}

/**
 * Recognises the administrator, checks the permission, acts, and writes an audit row before the answer leaves, also for a refusal.
 *
 * @throws {Refusal} UNAUTHORIZED | FORBIDDEN | what the action throws
 * @see CMD-02 @see SIG-16
 */
export function action<Params extends Readonly<Record<string, string>>>(deps: AdminApiDeps, what: Action<Params>): RequestHandler<Params> {
  return async (request, response) => {
    const administrator = await verifyAdministrator(deps, bearerToken(request));
    let result: ActionResult;
    try {
      assertMay(administrator, what.permission);
      result = await what.run(request, administrator);
    } catch (error) {
      await record(deps, request, { what, administrator, outcome: error instanceof Refusal ? error.reason : 'INTERNAL' });
      throw error;
    }
    if (result.isAudited !== true) await record(deps, request, { what, administrator, outcome: '' });
    answer(request, response, result.data, result.status);
  };
}

function assertMay({ permissions }: Administrator, permission: Permission | undefined): void {
  if (permission === undefined || permissions.includes(permission)) return;
  throw new Refusal('FORBIDDEN', `this needs the permission ${permission}`, { permission });
}

interface Recorded<Params extends Readonly<Record<string, string>>> {
  readonly what: Action<Params>;
  readonly administrator: Administrator;
  readonly outcome: string;
}

async function record<Params extends Readonly<Record<string, string>>>(
  { db }: AdminApiDeps,
  request: Request<Params>,
  { what, administrator, outcome }: Recorded<Params>,
): Promise<void> {
  const { traceId, realIp } = contextOf(request);
  await insertAdminAction(db, {
    adminId: administrator.id,
    adminName: administrator.name,
    action: what.name,
    tenantCode: request.params['code'] ?? '',
    object: what.object?.(request.params) ?? '',
    outcome,
    traceId,
    realIp,
  });
}
