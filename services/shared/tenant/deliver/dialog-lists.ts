import type { Redis } from '#shared/platform/redis/redis.ts';
import type { Keys } from '../dialog/keys.ts';
import type { Epoch } from './epoch.ts';
import { DIALOG_SCRIPTS } from './scripts.ts';
import { Fenced } from './shard-owner.ts';

/** Where a conversation's delivery stands in Redis. undefined = missing. */
export interface Marks {
  readonly epoch: string | undefined;
  readonly last: bigint | undefined;
  readonly handed: bigint | undefined;
  readonly resync: bigint;
}

/** What a change does to one user's lists: '+' one unread more, '-' one less (both only above his read mark), '0' joined, 'g' left, '.' only moves up. */
export interface ListEffect {
  readonly userId: bigint;
  readonly op: '+' | '-' | '0' | 'g' | '.';
  /** The messages the op is about. */
  readonly refs: readonly bigint[];
}

export interface Device {
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly processId: string;
  readonly connectionId: string;
}

/** A user as MySQL has him at the head of a rebuild. */
export interface RebuiltUser {
  readonly userId: bigint;
  readonly mark: bigint;
  readonly unread: number;
  readonly isGone: boolean;
  readonly isMuted: boolean;
}

export interface SyncedDialog {
  readonly conversationId: string;
  readonly score: string;
  readonly unread: number;
  readonly muted: boolean;
  readonly pinned: boolean;
  readonly left: boolean;
  /** JSON text, '' = none. */
  readonly preview: string;
}

/** Thrown when the marks are not where the worker believed: it drops what it remembers and looks again. */
export class ChainMoved extends Error {
  override readonly name = 'ChainMoved';
}

/** Who may change the lists of a shard. */
export interface Fence {
  readonly shard: number;
  readonly lease: string;
}

/** The dialog lists of one tenant in Redis: every change is one script call. @see INB-16 */
export class DialogLists {
  readonly #redis: Redis;
  readonly #epoch: Epoch;
  readonly #keys: Keys;
  readonly #base: string;

  constructor({ redis, epoch, keys, base = '' }: { redis: Redis; epoch: Epoch; keys: Keys; base?: string }) {
    this.#redis = redis;
    this.#epoch = epoch;
    this.#keys = keys;
    this.#base = base;
  }

  async marks(conversationId: bigint): Promise<Marks> {
    return toMarks(await this.#redis.hmget(this.#keys.deliver(conversationId), 'e', 'l', 'h', 'r'));
  }

  /** The marks of many conversations, in order. */
  async manyMarks(conversationIds: readonly bigint[]): Promise<readonly Marks[]> {
    const pipeline = this.#redis.pipeline();
    for (const id of conversationIds) pipeline.hmget(this.#keys.deliver(id), 'e', 'l', 'h', 'r');
    const answers = (await pipeline.exec()) ?? [];
    return answers.map(([error, fields]) => {
      if (error !== null) throw error;
      return toMarks(fields as (string | null)[]);
    });
  }

  /**
   * Applies one change to a chunk of users (ascending ids).
   *
   * @param isFinal the last chunk: `last` moves from prev to change
   * @returns the devices of these users that are online, read after their lists changed
   * @throws {Fenced | ChainMoved}
   */
  async applyEffects(
    { shard, lease }: Fence,
    change: { readonly conversationId: bigint; readonly changeId: bigint; readonly prevChangeId: bigint; readonly preview: string },
    effects: readonly ListEffect[],
    isFinal: boolean,
  ): Promise<readonly Device[]> {
    const users = effects.flatMap(({ userId, op, refs }) => [userId.toString(), op, refs.join(',')]);
    const { conversationId, changeId, prevChangeId, preview } = change;
    const head = [shard, lease, conversationId.toString(), changeId.toString(), prevChangeId.toString(), isFinal ? 1 : 0, preview];
    return toDevices(unlessRefused(await this.#run('effect', [...head, ...users])) as [string, string[]][]);
  }

  /** Moves the hand-over mark. @param prev undefined closes the stage after a rebuild. @throws {Fenced | ChainMoved} */
  async markHanded({ shard, lease }: Fence, conversationId: bigint, changeId: bigint, prev: bigint | undefined): Promise<void> {
    const args = [shard, lease, conversationId.toString(), changeId.toString(), prev?.toString() ?? ''];
    unlessRefused(await this.#run('handed', args));
  }

  /** One chunk of a rebuild. @returns false when a user read meanwhile, or another rebuild began: take a new snapshot. @throws {Fenced} */
  async rebuild(
    { shard, lease }: Fence,
    at: { readonly conversationId: bigint; readonly head: bigint; readonly isFirstChange: boolean; readonly preview: string },
    users: readonly RebuiltUser[],
    chunk: { readonly isFirst: boolean; readonly isFinal: boolean },
  ): Promise<boolean> {
    const rows = users.flatMap(({ userId, mark, unread, isGone, isMuted }) => [
      userId.toString(),
      mark.toString(),
      unread,
      isGone ? 1 : 0,
      isMuted ? 1 : 0,
    ]);
    const flags = [chunk.isFirst ? 1 : 0, chunk.isFinal ? 1 : 0, at.isFirstChange ? 1 : 0];
    const answer = await this.#run('rebuild', [
      shard,
      lease,
      at.conversationId.toString(),
      at.head.toString(),
      ...flags,
      at.preview,
      ...rows,
    ]);
    return unlessRefused(answer) === 'OK';
  }

  /** The change at which a user's counter stands; undefined on a broken chain. */
  async readPosition(conversationId: bigint, userId: bigint): Promise<bigint | undefined> {
    const answer = (await this.#run('readPosition', [conversationId.toString(), userId.toString()])) as string;
    return answer === '' ? undefined : BigInt(answer);
  }

  /** Sets read mark and count if nothing moved since they were asked for. @returns false = ask again */
  async applyRead(read: {
    readonly conversationId: bigint;
    readonly userId: bigint;
    readonly position: bigint | undefined;
    readonly mark: bigint;
    readonly unread: number;
  }): Promise<boolean> {
    const { conversationId, userId, position, mark, unread } = read;
    const args = [conversationId.toString(), userId.toString(), position?.toString() ?? '', mark.toString(), unread];
    const answer = await this.#run('readApply', args);
    // Only then: delivery shares this epoch, and without it takes no job.
    if (answer === 'EPOCH') this.#epoch.forget();
    return answer === 'DONE';
  }

  /** List entries that changed after a score, oldest first (SYN-02). */
  async changedSince(userId: bigint, score: bigint, limit: number): Promise<readonly SyncedDialog[]> {
    const flat = (await this.#run('sync', [userId.toString(), score.toString(), limit])) as (string | number)[];
    return Array.from({ length: flat.length / 7 }, (_, n) => toDialog(flat.slice(n * 7, n * 7 + 7)));
  }

  /** Online devices of users. */
  async presence(userIds: readonly bigint[]): Promise<readonly Device[]> {
    if (userIds.length === 0) return [];
    const pipeline = this.#redis.pipeline();
    for (const userId of userIds) pipeline.hgetall(this.#keys.presence(userId));
    const answers = (await pipeline.exec()) ?? [];
    return answers.flatMap(([error, fields], n) => {
      if (error !== null) throw error;
      return toDevices([[String(userIds[n]), Object.entries(fields as Record<string, string>).flat()]]);
    });
  }

  async #run(name: keyof typeof DIALOG_SCRIPTS, args: readonly (string | number)[]): Promise<unknown> {
    return DIALOG_SCRIPTS[name].run(this.#redis, [], [this.#base, await this.#epoch.current(), this.#keys.prefix, ...args]);
  }
}

function toMarks([epoch, last, handed, resync]: readonly (string | null)[]): Marks {
  return {
    epoch: epoch ?? undefined,
    last: typeof last === 'string' ? BigInt(last) : undefined,
    handed: typeof handed === 'string' ? BigInt(handed) : undefined,
    resync: BigInt(resync ?? '0'),
  };
}

function unlessRefused(answer: unknown): unknown {
  if (answer === 'FENCED') throw new Fenced('not the owner of the shard');
  if (answer === 'CHAIN') throw new ChainMoved('the marks moved');
  return answer;
}

function toDevices(users: readonly [string, readonly string[]][]): Device[] {
  return users.flatMap(([userId, fields]) => {
    const devices: Device[] = [];
    for (let n = 0; n + 1 < fields.length; n += 2) {
      const [processId, connectionId, expiresMs] = (fields[n + 1] ?? '').split('|');
      if (processId === undefined || connectionId === undefined || Number(expiresMs) < Date.now()) continue;
      devices.push({ userId: BigInt(userId), deviceId: BigInt(fields[n] ?? '0'), processId, connectionId });
    }
    return devices;
  });
}

function toDialog([conversationId, score, unread, muted, pinned, left, preview]: (string | number)[]): SyncedDialog {
  return {
    conversationId: String(conversationId),
    score: String(score),
    unread: Number(unread),
    muted: muted === 1,
    pinned: pinned === 1,
    left: left === 1,
    preview: typeof preview === 'string' ? preview : '',
  };
}
