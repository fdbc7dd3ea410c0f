import { setTimeout as pause } from 'node:timers/promises';
import { COMMANDS } from '#shared/contract/commands.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { processInboxKey } from '#shared/tenant/dialog/keys.ts';
import { decodeItem } from '#shared/tenant/presence/process-inbox.ts';
import type { InboxItem } from '#shared/tenant/presence/process-inbox.ts';
import type { Sessions } from '../gateway/sessions.ts';

export interface InboxReaderDeps {
  readonly sessions: Sessions;
  /** A connection of its own: it only waits. */
  readonly redis: Redis;
  readonly base: string;
  readonly processId: string;
  readonly log: Log;
}

/** Frames taken at once. */
const TAKE = 100;
/** How long one wait lasts (s). */
const WAIT_SECONDS = 5;
const BACKOFF_MS = 200;

/**
 * Passes on what other processes have for the sessions of this one. A frame whose session is gone is dropped: the device syncs when it
 * comes back. Frames leave the list after they were passed on, so a connection that breaks repeats some and loses none; they are lost
 * only with the process, and then its sessions are too.
 */
export class InboxReader implements Part {
  readonly name = 'process inbox';
  readonly #deps: InboxReaderDeps;
  #isRunning = false;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: InboxReaderDeps) {
    this.#deps = deps;
  }

  start(): Promise<void> {
    this.#isRunning = true;
    this.#loop = this.#read();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    this.#deps.redis.disconnect();
    await this.#loop;
  }

  async #read(): Promise<void> {
    const { redis, base, processId } = this.#deps;
    const key = processInboxKey(base, processId);
    while (this.#isRunning) {
      try {
        // From the head to the head: it waits for a frame and takes nothing.
        if ((await redis.blmove(key, key, 'LEFT', 'LEFT', WAIT_SECONDS)) === null) continue;
        const frames = await redis.lrange(key, 0, TAKE - 1);
        for (const text of frames) this.#pass(text);
        await redis.ltrim(key, frames.length, -1);
      } catch (error) {
        this.#deps.log.debug({ error: error as Error }, 'process inbox out of reach');
        await pause(BACKOFF_MS);
      }
    }
  }

  #pass(text: string): void {
    const item = this.#decode(text);
    if (item === undefined) return;
    const { tenant, device, command, body } = item;
    const session = this.#deps.sessions.get(tenant, device.userId, device.deviceId);
    if (session?.connectionId !== device.connectionId) return;
    session.push({ command, body: Buffer.from(body) });
    if (command === COMMANDS.KICK) session.close('KICKED');
  }

  #decode(text: string): InboxItem | undefined {
    try {
      return decodeItem(text, this.#deps.processId);
    } catch (error) {
      this.#deps.log.error({ error: error as Error, bytes: text.length }, 'an unreadable inbox item is dropped');
      return undefined;
    }
  }
}
