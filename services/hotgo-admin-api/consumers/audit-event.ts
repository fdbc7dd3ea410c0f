import { commandIdOf, parseEnvelope } from '#shared/contract/envelope.ts';
import type { Envelope } from '#shared/contract/envelope.ts';
import type { Inbox } from '#shared/platform/events/receive.ts';
import { insertAdminAction } from '../domain/audit/audit-store.ts';

const ADMIN_ID = /^admin_([1-9][0-9]{0,17})$/;

/** `im.audit.event`: what happened in the tenants goes into the audit log of the back office. @see AUD-06 @see AUD-07 */
export const auditEventInbox: Inbox<Envelope> = {
  parse: parseEnvelope,
  identify: ({ event_id, trace_id, tenant_code, event_type, payload }) => ({
    event_id,
    trace_id,
    tenant_code,
    event_type,
    command_id: commandIdOf(payload) ?? '',
  }),
  execute: async (tx, envelope) => {
    const { actor, event_type: action, tenant_code: tenantCode, biz_id: object, trace_id: traceId, payload, version } = envelope;
    const outcome = payload['outcome'];
    await insertAdminAction(tx, {
      adminId: ADMIN_ID.exec(actor.id)?.[1] ?? '0',
      adminName: actor.display_name ?? actor.id,
      action,
      tenantCode,
      object,
      outcome: typeof outcome === 'string' && outcome !== 'succeeded' ? outcome.slice(0, 64) : '',
      detail: JSON.stringify({ command_id: commandIdOf(payload), user_id: payload['user_id'], version, occurred_at: envelope.occurred_at }),
      traceId,
      realIp: '',
    });
    return { status: 'succeeded' };
  },
  giveUp: () => Promise.resolve(),
};
