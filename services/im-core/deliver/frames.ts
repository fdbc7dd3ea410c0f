import { CHANGE_KINDS, COMMANDS } from '#shared/contract/commands.ts';
import { eventFrame, pushBody } from '#shared/contract/frame-body.ts';
import type { EventNotice } from '#shared/contract/frame-body.ts';
import { externalId } from '#shared/contract/ids.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import type { OutFrame } from '../gateway/sessions.ts';

/** What clients are told about a change; undefined where a notice of its own tells them. */
export function frameOf(job: DeliverJob): OutFrame | undefined {
  if (job.kind === CHANGE_KINDS.MESSAGE) return { command: COMMANDS.MESSAGE, body: pushBody(Buffer.from(job.data)) };
  if (job.kind === CHANGE_KINDS.MEMBER) return memberChanged(job);
  return undefined;
}

/** EVENT that makes a client fetch what it may have missed in one conversation. */
export function syncRequired(tenant: string, conversationId: bigint): OutFrame {
  return eventFrame(notice('sync.required', tenant, '', { conversation_id: conversationId.toString() }));
}

function memberChanged(job: DeliverJob): OutFrame {
  const { tenant, conversationId, changeId, prevChangeId, actorId, data } = job;
  const change = { conversation_id: conversationId.toString(), change_id: changeId.toString(), prev_change_id: prevChangeId.toString() };
  const event = notice('conversation.member.changed', tenant, externalId('grp', conversationId), {
    ...change,
    ...(JSON.parse(data) as object),
  });
  return eventFrame({ ...event, actor: { type: 'user', id: externalId('usr', actorId) } });
}

function notice(event: string, tenant: string, topic: string, data: object): EventNotice {
  return {
    event,
    tenant_code: tenant,
    topic,
    actor: null,
    trace_id: '',
    occurred_at: new Date().toISOString(),
    data,
  };
}
