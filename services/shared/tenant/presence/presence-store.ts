import { Script } from '#shared/platform/redis/redis.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import type { Keys } from '../dialog/keys.ts';

/** How long a device counts as online without a heartbeat (ms): three missed ones. */
export const PRESENCE_MS = 90_000;

export interface PresenceDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly processId: string;
}

/** A device's connection. Connection ids sort by the time they were made, so the newest of a device wins any race. */
export interface BoundDevice {
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly connectionId: string;
}

const HEAD = `#!lua flags=allow-oom
local key, device, process, connection, ttl = KEYS[1], ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = redis.call('HGET', key, device)
local holder, expires = string.match(value or '', '^[^|]*|([^|]*)|(%d+)')
local function write()
  redis.call('HSET', key, device, process .. '|' .. connection .. '|' .. string.format('%.0f', now + ttl))
  redis.call('PEXPIRE', key, ttl)
end
`;
const BIND = new Script(`${HEAD}
if holder and holder > connection then return 'OLDER' end
write()
return value or ''`);
const REFRESH = new Script(`${HEAD}
if not holder then write() return 'LAPSED' end
if holder ~= connection then return 'REPLACED' end
write()
-- The key lives as long as any device of the user; whoever reads it passes by a field that ran out, so this one missed what came.
return tonumber(expires) < now and 'LAPSED' or 'OK'`);
const UNBIND = new Script(`${HEAD}
if holder == connection then redis.call('HDEL', key, device) end
return 'OK'`);

/**
 * Says before AUTH is answered where the device is reached from now on.
 *
 * @returns false when a newer connection of the device is bound already: this one is to be closed
 * @see SES-14
 */
export async function bindDevice(deps: PresenceDeps, device: BoundDevice): Promise<boolean> {
  return (await run(BIND, deps, device)) !== 'OLDER';
}

/**
 * Keeps a bound device online.
 *
 * @returns LAPSED: it had fallen out and is registered again, what came meanwhile was not pushed, so tell it to sync (only now, not before);
 *   REPLACED: another connection of the device is bound, close this one
 */
export async function refreshDevice(deps: PresenceDeps, device: BoundDevice): Promise<'OK' | 'LAPSED' | 'REPLACED'> {
  return (await run(REFRESH, deps, device)) as 'OK' | 'LAPSED' | 'REPLACED';
}

/** Takes the device offline, unless a newer connection of it is bound. */
export async function unbindDevice(deps: PresenceDeps, device: BoundDevice): Promise<void> {
  await run(UNBIND, deps, device);
}

function run(script: Script, { redis, keys, processId }: PresenceDeps, { userId, deviceId, connectionId }: BoundDevice): Promise<unknown> {
  return script.run(redis, [keys.presence(userId)], [deviceId.toString(), processId, connectionId, PRESENCE_MS]);
}
