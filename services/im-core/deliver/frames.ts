import { CHANGE_KINDS, COMMANDS } from '#shared/contract/commands.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import type { OutFrame } from '../gateway/sessions.ts';

/** A server push: the one answer form around data that is JSON text already. */
export function pushFrame(command: number, data: string): OutFrame {
  return { command, body: Buffer.from(`{"code":0,"msg":"ok","request_id":"","data":${data}}`) };
}

/** What clients are told about a change; undefined where a notice of its own tells them. */
export function frameOf(job: DeliverJob): OutFrame | undefined {
  if (job.kind === CHANGE_KINDS.MESSAGE) return pushFrame(COMMANDS.MESSAGE, job.data);
  if (job.kind === CHANGE_KINDS.MEMBER)
    return pushFrame(COMMANDS.EVENT, eventData('conversation.member.changed', job.conversationId, job.changeId, job.data));
  return undefined;
}

/** EVENT that makes a client fetch what it may have missed. */
export function syncRequired(conversationId: bigint, changeId: bigint): OutFrame {
  return pushFrame(COMMANDS.EVENT, eventData('sync.required', conversationId, changeId, '{}'));
}

function eventData(event: string, conversationId: bigint, changeId: bigint, data: string): string {
  return `{"event":"${event}","conversation_id":"${conversationId.toString()}","change_id":"${changeId.toString()}","data":${data}}`;
}
