import { Script } from '#shared/platform/redis/redis.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import type { Device } from '../deliver/dialog-lists.ts';
import { processInboxKey } from '../dialog/keys.ts';

/** Frames that may wait for one process. Beyond it the devices are treated like ones that could not be reached. */
const MAX_WAITING = 10_000;

/** One frame for one session of another process. */
export interface InboxItem {
  readonly tenant: string;
  readonly device: Device;
  readonly command: number;
  /** The frame's body, JSON text. */
  readonly body: string;
}

const PUSH = new Script(`#!lua flags=allow-oom
local room = tonumber(ARGV[1]) - redis.call('LLEN', KEYS[1])
local taken = 0
for i = 2, #ARGV do
  if taken >= room then break end
  redis.call('RPUSH', KEYS[1], ARGV[i])
  taken = taken + 1
end
redis.call('PEXPIRE', KEYS[1], 3600000)
return taken`);

/** Puts frames into the inbox of a process, in order. @returns those that found no room */
export async function pushToProcess(
  redis: Redis,
  base: string,
  processId: string,
  items: readonly InboxItem[],
): Promise<readonly InboxItem[]> {
  const taken = Number(await PUSH.run(redis, [processInboxKey(base, processId)], [MAX_WAITING, ...items.map(encodeItem)]));
  return items.slice(taken);
}

function encodeItem({ tenant, device, command, body }: InboxItem): string {
  return `${tenant} ${device.userId.toString()} ${device.deviceId.toString()} ${device.connectionId} ${String(command)}\n${body}`;
}

/** @throws {Error} when it is not one */
export function decodeItem(text: string, processId: string): InboxItem {
  const end = text.indexOf('\n');
  const [tenant, userId, deviceId, connectionId, command] = text.slice(0, end).split(' ');
  if (end < 0 || tenant === undefined || connectionId === undefined || command === undefined) throw new Error('not an inbox item');
  const device = { userId: BigInt(userId ?? ''), deviceId: BigInt(deviceId ?? ''), processId, connectionId };
  return { tenant, device, command: Number(command), body: text.slice(end + 1) };
}
