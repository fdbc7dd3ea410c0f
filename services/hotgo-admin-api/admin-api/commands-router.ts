import { Router } from 'express';
import { z } from 'zod';
import { Refusal } from '#shared/contract/reasons.ts';
import { cursorField, limitField, parseBody, parseQuery, parseValue } from '#shared/platform/http/parse-request.ts';
import { contextOf } from '#shared/platform/http/request-context.ts';
import { commandKind } from '../domain/command/command-kinds.ts';
import { COMMAND_STATES, isFinal } from '../domain/command/command-model.ts';
import { createCommand } from '../domain/command/create-command.ts';
import { commandData, findCommand, listCommands } from '../domain/command/find-commands.ts';
import { action } from './action.ts';
import type { AdminApiDeps } from './deps.ts';

const orderBody = z.strictObject({
  event_type: z.string().max(64),
  command_id: z
    .string()
    .regex(/^[A-Za-z0-9._:-]{8,128}$/, 'has 8 to 128 letters, digits and . _ : -')
    .optional(),
  payload: z.unknown(),
});
const word = z.string().min(1).max(128);
const listQuery = z.strictObject({
  tenant_code: word.optional(),
  status: z.enum(COMMAND_STATES).optional(),
  event_type: word.optional(),
  biz_id: word.optional(),
  trace_id: word.optional(),
  before: cursorField('before'),
  limit: limitField(50, 200),
});

/** Orders to tenants: give one, look at one, look for many. An order is never shown as done before im-core has said so. @see CMD-13 */
export function commandsRouter(deps: AdminApiDeps): Router {
  const router = Router();
  router.post('/tenants/:code/commands', createAction(deps));
  router.get(
    '/tenants/:code/commands/:commandId',
    action<{ code: string; commandId: string }>(deps, {
      name: 'command.read',
      permission: 'command.read',
      object: ({ commandId }) => commandId,
      run: async ({ params }) => ({ data: commandData(await findCommand(deps.commands, params.code, params.commandId)) }),
    }),
  );
  router.get('/commands', listAction(deps));
  return router;
}

function createAction(deps: AdminApiDeps) {
  return action<{ code: string }>(deps, {
    name: 'command.create',
    run: async (request, administrator) => {
      const { code: tenantCode } = request.params;
      if (!deps.tenants.includes(tenantCode)) throw new Refusal('RESOURCE_NOT_FOUND', 'no such tenant', { tenant_code: tenantCode });
      const { event_type: eventType, command_id: commandId, payload } = parseBody(orderBody, request);
      const kind = commandKind(eventType);
      if (!administrator.permissions.includes(kind.permission)) {
        throw new Refusal('FORBIDDEN', `this needs the permission ${kind.permission}`, { permission: kind.permission });
      }
      const { traceId, realIp } = contextOf(request);
      const order = { tenantCode, kind, payload: parseValue(kind.payload, payload), administrator, traceId, realIp };
      const { row, isRepeat } = await createCommand(deps, commandId === undefined ? order : { ...order, commandId });
      const ids = { trace_id: row.trace_id, command_id: row.command_id, tenant_code: tenantCode, event_type: eventType };
      deps.log.info({ ...ids, biz_id: row.biz_id, operator: administrator.name, real_ip: realIp, is_repeat: isRepeat }, 'order accepted');
      return {
        data: { command_id: row.command_id, status: row.status, trace_id: row.trace_id, is_repeat: isRepeat },
        status: isFinal(row.status) ? 200 : 202,
        isAudited: !isRepeat,
      };
    },
  });
}

function listAction(deps: AdminApiDeps) {
  return action(deps, {
    name: 'command.list',
    permission: 'command.read',
    run: async (request) => {
      const query = parseQuery(listQuery, request);
      const rows = await listCommands(deps.commands, {
        before: query.before,
        limit: query.limit + 1,
        ...(query.tenant_code === undefined ? {} : { tenantCode: query.tenant_code }),
        ...(query.status === undefined ? {} : { status: query.status }),
        ...(query.event_type === undefined ? {} : { eventType: query.event_type }),
        ...(query.biz_id === undefined ? {} : { bizId: query.biz_id }),
        ...(query.trace_id === undefined ? {} : { traceId: query.trace_id }),
      });
      const page = rows.slice(0, query.limit);
      return { data: { commands: page.map(commandData), next_before: rows.length > query.limit ? (page.at(-1)?.id ?? null) : null } };
    },
  });
}
