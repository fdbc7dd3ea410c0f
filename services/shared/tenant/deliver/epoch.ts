import { randomBytes } from 'node:crypto';
import type { Redis } from '#shared/platform/redis/redis.ts';
import { QUEUE_SCRIPTS } from './scripts.ts';

/**
 * The epoch of a Redis: a random id that changes whenever the server may have forgotten something (restart, FLUSHALL). Everything that was
 * built in an earlier epoch counts as broken and is rebuilt from MySQL. One per connection; every script compares the id it was told.
 */
export class Epoch {
  readonly #redis: Redis;
  readonly #base: string;
  #id = '';

  constructor(redis: Redis, base = '') {
    this.#redis = redis;
    this.#base = base;
    // A connection that was lost may come back to another server state: what it was told before counts no more.
    redis.on('close', () => {
      this.#id = '';
    });
  }

  /** The id this connection was told, or '' when it must be asked for first. */
  get known(): string {
    return this.#id;
  }

  /** Asks the server, which starts a new epoch when there is none of its own. @throws when Redis does not answer */
  async adopt(): Promise<string> {
    const runId = /^run_id:(\w+)/m.exec(await this.#redis.info('server'))?.[1];
    if (runId === undefined) throw new Error('redis does not tell its run id');
    const value = (await QUEUE_SCRIPTS.epoch.run(this.#redis, [], [this.#base, runId, randomBytes(8).toString('hex')])) as string;
    this.#id = value.slice(0, value.indexOf('|'));
    return this.#id;
  }

  /** The known id, or a fresh one. */
  async current(): Promise<string> {
    return this.#id === '' ? this.adopt() : this.#id;
  }

  /** A script said that the id is out of date. */
  forget(): void {
    this.#id = '';
  }
}
