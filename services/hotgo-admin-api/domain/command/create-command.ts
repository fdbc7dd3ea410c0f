import { buildEnvelope, fingerprint, newId, SERVICE_NAMES } from '#shared/contract/envelope.ts';
import type { Envelope, Payload } from '#shared/contract/envelope.ts';
import { externalId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { appendOutbox } from '#shared/platform/events/outbox.ts';
import type { OutboxTable } from '#shared/platform/events/outbox.ts';
import { isDuplicateKey } from '#shared/platform/mysql/database.ts';
import type { Tx } from '#shared/platform/mysql/database.ts';
import { modelTransaction } from '#shared/platform/mysql/sequelize-database.ts';
import type { ModelDatabase } from '#shared/platform/mysql/sequelize-database.ts';
import type { Administrator } from '../administrator/administrator.ts';
import { insertAdminAction } from '../audit/audit-store.ts';
import type { CommandKind } from './command-kinds.ts';
import type { CommandModel, CommandRow } from './command-model.ts';

export interface CreateCommandDeps {
  readonly db: ModelDatabase;
  readonly commands: CommandModel;
  readonly outbox: OutboxTable;
}

export interface NewCommand {
  readonly tenantCode: string;
  readonly kind: CommandKind;
  /** The caller's, for repeats of one operation; default a new one. @see CMD-16 */
  readonly commandId?: string;
  /** As `kind.payload` gave it back. */
  readonly payload: Payload;
  readonly administrator: Administrator;
  readonly traceId: string;
  readonly realIp: string;
}

export const COMMAND_TOPIC = 'im.admin.command';

/** The service user that every tenant is seeded with; the actor in the eyes of the tenant. @see X-53 */
const SERVICE_USER = externalId('usr', 1n);
/** A command without a result is sent again after this (ms). */
const RESEND_AFTER_MS = 120_000;

// The row is the mutex of the object: orders of one object get their outbox ids in the order of their commits.
const LOCK_OBJECT = 'INSERT INTO admin_command_objects (order_key, orders) VALUES (?, 1) ON DUPLICATE KEY UPDATE orders = orders + 1';

/**
 * Writes an order: its ledger row, the event that carries it, and the audit row, or none of them. The same order again answers the first one
 * with its present state.
 *
 * @throws {Refusal} COMMAND_DUPLICATED (the id is taken by another order) | TOO_LARGE
 * @see CMD-03 @see CMD-04 @see CMD-16
 */
export async function createCommand(deps: CreateCommandDeps, order: NewCommand): Promise<{ row: CommandRow; isRepeat: boolean }> {
  const commandId = order.commandId ?? newId('cmd');
  const envelope = envelopeOf(order, commandId);
  const mark = fingerprint(envelope.event_type, envelope.payload);
  try {
    return { row: await deps.db.transaction((tx) => write(deps, tx, { order, commandId, envelope, mark })), isRepeat: false };
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return { row: await repeated(deps, order.tenantCode, commandId, mark), isRepeat: true };
  }
}

function envelopeOf({ tenantCode, kind, payload, administrator, traceId }: NewCommand, commandId: string): Envelope {
  return buildEnvelope({
    trace_id: traceId,
    tenant_code: tenantCode,
    source_service: SERVICE_NAMES.ADMIN,
    target_service: SERVICE_NAMES.IM,
    event_type: kind.eventType,
    biz_type: kind.bizType,
    biz_id: kind.bizId(payload),
    idempotency_key: commandId,
    actor: { type: 'admin', id: `admin_${administrator.id}`, display_name: administrator.name },
    payload: { command_id: commandId, actor_user_id: SERVICE_USER, ...payload },
  });
}

interface Writing {
  readonly order: NewCommand;
  readonly commandId: string;
  readonly envelope: Envelope;
  readonly mark: Buffer;
}

async function write({ commands, outbox }: CreateCommandDeps, tx: Tx, { order, commandId, envelope, mark }: Writing): Promise<CommandRow> {
  const { tenantCode, kind, administrator, traceId, realIp } = order;
  const orderKey = `${tenantCode}:${envelope.biz_id}`;
  await tx.change(LOCK_OBJECT, [orderKey]);
  const now = new Date();
  const row = await commands.create(
    {
      tenant_code: tenantCode,
      command_id: commandId,
      fingerprint: mark,
      event_id: envelope.event_id,
      event_type: kind.eventType,
      biz_type: kind.bizType,
      biz_id: envelope.biz_id,
      envelope: Buffer.from(JSON.stringify(envelope)),
      next_resend_at: new Date(now.getTime() + RESEND_AFTER_MS),
      operator_id: administrator.id,
      operator_name: administrator.name,
      trace_id: traceId,
      created_at: now,
      updated_at: now,
    },
    { transaction: modelTransaction(tx) },
  );
  await appendOutbox(tx, outbox, { topic: COMMAND_TOPIC, orderKey, envelope });
  const action = { action: 'command.create', tenantCode, object: envelope.biz_id, outcome: '', detail: `${kind.eventType} ${commandId}` };
  await insertAdminAction(tx, { adminId: administrator.id, adminName: administrator.name, traceId, realIp, ...action });
  return row;
}

/** The order that holds this id, if it is the same one. */
async function repeated({ commands }: CreateCommandDeps, tenantCode: string, commandId: string, mark: Buffer): Promise<CommandRow> {
  const row = await commands.findOne({ where: { tenant_code: tenantCode, command_id: commandId } });
  if (row?.fingerprint.equals(mark) === true) return row;
  throw new Refusal('COMMAND_DUPLICATED', 'this command_id belongs to another order', { command_id: commandId });
}
