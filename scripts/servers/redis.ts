import { chown, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ServerDeps } from './inside.ts';
import { inside, ownDirectory, socketDirectory } from './inside.ts';
import { answers } from './probe.ts';
import { SERVER_USERS } from './root.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

export interface RedisOptions {
  /** Text of redisConfig(), readable by anybody: passwords are in the ACL file. */
  readonly configFile: string;
  readonly dataDirectory: string;
  readonly socketPath: string;
  /** The file that the configuration names as `aclfile`; it becomes the property of Redis' user. */
  readonly aclFile?: string;
}

const UID = SERVER_USERS.redis;

/** Starts Redis. Ready when it has loaded its data and answers on its socket. */
export async function startRedis(deps: ServerDeps, { configFile, dataDirectory, socketPath, aclFile }: RedisOptions): Promise<Server> {
  await ownDirectory(dataDirectory, UID);
  const sockets = await socketDirectory(socketPath);
  await rm(socketPath, { force: true });
  if (aclFile !== undefined) await chown(aclFile, UID, UID);
  const directories = [dirname(configFile), dataDirectory, sockets, ...(aclFile === undefined ? [] : [aclFile])];
  const [command = '', ...args] = inside(deps.serverRoot, UID, directories, ['/usr/bin/redis-server', configFile]);
  return startServer({
    name: 'redis',
    command,
    args,
    onLine: deps.onLine ?? (() => undefined),
    stopping: deps.stopping,
    // It listens before its data are loaded, and answers a stranger with NOAUTH even then: only the log tells.
    isReady: async (lines) => lines.some((line) => line.includes('eady to accept connections')) && (await isRedisUp(socketPath)),
  });
}

/** Whether Redis answers PING, be it only to ask for a password. */
export async function isRedisUp(socketPath: string): Promise<boolean> {
  return answers({ path: socketPath }, 'PING\r\n', /^(\+PONG|-NOAUTH)/);
}
