import { COMMANDS, MESSAGE_TYPES } from '#shared/contract/commands.ts';
import { parseId } from '#shared/contract/ids.ts';
import { memberBytes } from '#shared/contract/json-member.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { contentHash } from '#shared/tenant/message/new-message.ts';
import type { NewMessage } from '#shared/tenant/message/new-message.ts';
import type { CommandBody, CommandContext, CommandHandler } from './command.ts';
import { deviceKey } from './issued-ids.ts';
import type { IssuedIds } from './issued-ids.ts';
import { tenantOf } from './tenant-services.ts';
import type { Tenants } from './tenant-services.ts';

export interface SendDeps {
  readonly tenants: Tenants;
  readonly issued: IssuedIds;
  /** Told of a send that was a repeat of a stored one. */
  readonly onRepeat?: () => void;
  /** Bytes of `content` at most (MSG-32). */
  readonly maxContentBytes: number;
}

const MAX_CLIENT_MSG_ID_BYTES = 64;

/**
 * Command 4, answered by SEND_ACK 5: stores a message once and queues its delivery; the answer means both have happened.
 *
 * Wire    {"conversation_id", "client_msg_id", "message_type", "content": {"t": message_type, ...}, "msg_id"?}
 * Answer  {"msg_id", "client_msg_id", "server_time", "is_duplicate"}; msg_id may differ from the one that was asked for
 *
 * @see MSG-26 @see MSG-27
 */
export function sendMessage(deps: SendDeps): CommandHandler {
  return {
    command: COMMANDS.SEND_MESSAGE,
    replyWith: COMMANDS.SEND_ACK,
    async handle(context, body, raw) {
      const { writer } = tenantOf(deps.tenants, context.tenant);
      const message = parse(deps, context, body, raw);
      const sent = await writer.send(message);
      if (sent.isDuplicate) deps.onRepeat?.();
      return {
        msg_id: sent.msgId.toString(),
        client_msg_id: message.clientMsgId,
        server_time: sent.storedAt.toISOString(),
        is_duplicate: sent.isDuplicate,
      };
    },
  };
}

function parse({ issued, maxContentBytes }: SendDeps, context: CommandContext, body: CommandBody, raw: Buffer): NewMessage {
  const messageType = parseType(body);
  const content = parseContent(body, raw, messageType, maxContentBytes);
  const wantedId = body.msg_id === undefined ? undefined : parseId(body.msg_id, 'msg_id');
  return {
    conversationId: parseId(body.conversation_id, 'conversation_id'),
    senderId: context.userId,
    senderDeviceId: context.deviceId,
    clientMsgId: parseClientMsgId(body.client_msg_id),
    messageType,
    content,
    hash: contentHash(messageType, content),
    notPush: false,
    ...(wantedId !== undefined && issued.isOwn(deviceKey(context), wantedId) ? { wantedId } : {}),
  };
}

function parseType({ message_type: type }: CommandBody): number {
  if (typeof type === 'number' && Number.isInteger(type) && type >= MESSAGE_TYPES.TEXT && type <= MESSAGE_TYPES.LOCATION) return type;
  throw new Refusal('INVALID_ARGUMENT', 'message_type must be a number from 1 to 8', { field: 'message_type' });
}

/** The bytes as they came: what is stored and compared is never re-written JSON (MSG-43, MSG-44). */
function parseContent({ content }: CommandBody, raw: Buffer, messageType: number, maxBytes: number): Buffer {
  const bytes = memberBytes(raw, 'content');
  if (bytes === undefined || typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new Refusal('INVALID_ARGUMENT', 'content must be a JSON object', { field: 'content' });
  }
  if ((content as { t?: unknown }).t !== messageType) {
    throw new Refusal('INVALID_ARGUMENT', 'content.t must be equal to message_type', { field: 'content.t' });
  }
  if (bytes.length > maxBytes) throw new Refusal('TOO_LARGE', `content may have ${String(maxBytes)} bytes`, { max_bytes: maxBytes });
  return Buffer.from(bytes); // a copy: the frame's buffer is not kept alive by what waits for the store
}

function parseClientMsgId(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.isWellFormed() && Buffer.byteLength(value) <= MAX_CLIENT_MSG_ID_BYTES)
    return value;
  throw new Refusal('INVALID_ARGUMENT', `client_msg_id must be a string of 1 to ${String(MAX_CLIENT_MSG_ID_BYTES)} bytes`, {
    field: 'client_msg_id',
  });
}
