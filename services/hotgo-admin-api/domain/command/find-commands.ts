import { Op } from 'sequelize';
import { Refusal } from '#shared/contract/reasons.ts';
import type { CommandModel, CommandRow, CommandState } from './command-model.ts';

export interface CommandFilter {
  readonly tenantCode?: string;
  readonly status?: CommandState;
  readonly eventType?: string;
  readonly bizId?: string;
  readonly traceId?: string;
  /** Rows below this one, newest first; 0n = from the newest. */
  readonly before: bigint;
  readonly limit: number;
}

/** @throws {Refusal} RESOURCE_NOT_FOUND */
export async function findCommand(commands: CommandModel, tenantCode: string, commandId: string): Promise<CommandRow> {
  const row = await commands.findOne({ where: { tenant_code: tenantCode, command_id: commandId } });
  if (row === null) throw new Refusal('RESOURCE_NOT_FOUND', 'no such command');
  return row;
}

/** Newest first. */
export async function listCommands(commands: CommandModel, filter: CommandFilter): Promise<readonly CommandRow[]> {
  const { tenantCode, status, eventType, bizId, traceId, before, limit } = filter;
  return commands.findAll({
    where: {
      ...(tenantCode === undefined ? {} : { tenant_code: tenantCode }),
      ...(status === undefined ? {} : { status }),
      ...(eventType === undefined ? {} : { event_type: eventType }),
      ...(bizId === undefined ? {} : { biz_id: bizId }),
      ...(traceId === undefined ? {} : { trace_id: traceId }),
      ...(before === 0n ? {} : { id: { [Op.lt]: before.toString() } }),
    },
    order: [['id', 'DESC']],
    limit,
  });
}

/** What an administrator is shown of an order. `reason` is the stable word that im-core gave. @see CMD-13 @see CMD-21 */
export function commandData(row: CommandRow): object {
  return {
    command_id: row.command_id,
    tenant_code: row.tenant_code,
    event_type: row.event_type,
    biz_type: row.biz_type,
    biz_id: row.biz_id,
    status: row.status,
    reason: row.reason,
    message: row.message,
    result: resultOf(row),
    attempts: row.attempts,
    operator: row.operator_name,
    trace_id: row.trace_id,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

function resultOf({ result }: CommandRow): unknown {
  return result === null ? null : (JSON.parse(result.toString()) as unknown);
}
