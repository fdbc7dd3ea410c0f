import { COMMANDS } from './commands.ts';

/** The bytes of `{code, msg, request_id, data}` for an answer that is not a refusal. A Buffer as data is JSON already and goes in untouched. */
export function answerBody(requestId: string, data: object | Buffer): Buffer {
  const before = `{"code":0,"msg":"ok","request_id":${JSON.stringify(requestId)},"data":`;
  if (!Buffer.isBuffer(data)) return Buffer.from(`${before}${JSON.stringify(data)}}`);
  return Buffer.concat([Buffer.from(before), data, CLOSE]);
}

/** The same envelope for what nobody asked for. */
export function pushBody(data: object | Buffer): Buffer {
  return answerBody('', data);
}

/** `data` of an EVENT. Times are ISO-8601 in UTC; ids inside `data` are decimal strings. */
export interface EventNotice {
  readonly event: string;
  readonly tenant_code: string;
  /** What it is about, `grp7`, `p2p9` or `usr42`; '' where it is about this session. */
  readonly topic: string;
  /** Who did it; null where nobody did. */
  readonly actor: { readonly type: string; readonly id: string } | null;
  readonly trace_id: string;
  readonly occurred_at: string;
  readonly data: object;
}

export interface PushFrame {
  readonly command: number;
  readonly body: Buffer;
}

export function eventFrame(notice: EventNotice): PushFrame {
  return { command: COMMANDS.EVENT, body: pushBody(notice) };
}

/** Why the server ends a session. REPLACED: the same device logged in again; the client does not reconnect by itself then. */
export type KickReason = 'REPLACED' | 'ACCOUNT_SUSPENDED' | 'TENANT_DISABLED' | 'DEVICE_REMOVED' | 'LOGGED_OUT' | 'SHUTDOWN';

export function kickFrame(reason: string): PushFrame {
  return { command: COMMANDS.KICK, body: pushBody({ reason }) };
}

/** "Pushes of yours were dropped: ask with SYNC_INBOX." */
export function syncRequiredFrame(tenant: string, occurredAt: Date): PushFrame {
  return eventFrame({
    event: 'sync.required',
    tenant_code: tenant,
    topic: '',
    actor: null,
    trace_id: '',
    occurred_at: occurredAt.toISOString(),
    data: {},
  });
}

const CLOSE = Buffer.from('}');
