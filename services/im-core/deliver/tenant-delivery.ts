import { CHANGE_KINDS, CONVERSATION_TYPES } from '#shared/contract/commands.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { conversationType } from '#shared/tenant/conversation/conversation-type.ts';
import { membersEver, recipientsAt } from '#shared/tenant/conversation/member-intervals.ts';
import { changesBetween, headOf, isFirstChange, isGapTooLong, previewAt, previewOf } from '#shared/tenant/deliver/change-chain.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import { ChainMoved } from '#shared/tenant/deliver/dialog-lists.ts';
import type { Device, DialogLists, Fence, ListEffect, Marks } from '#shared/tenant/deliver/dialog-lists.ts';
import type { Epoch } from '#shared/tenant/deliver/epoch.ts';
import { usersAt } from '#shared/tenant/dialog/unread-count.ts';
import { knownDevices, markMissed } from '#shared/tenant/mailbox/mailbox-store.ts';
import type { Missed } from '#shared/tenant/mailbox/mailbox-store.ts';
import { frameOf, syncRequired } from './frames.ts';
import { handOver } from './hand-over.ts';
import type { deliverMetrics, HandOverDeps } from './hand-over.ts';

/**
 * Delivery of one tenant's conversations: the chain of changes with two marks.
 *
 * `last` says up to where the lists are right (exactly once, it moves inside the effect script), `handed` up to where frames were handed
 * over (at least once). Work goes change by change from the first change after min(last, handed): list effects, then hand-over, before the
 * next change. What is missing is read from MySQL. Marks that are missing, of another epoch, above the head or more than 1,000 changes
 * behind are a broken chain: the lists are rebuilt absolutely from one SQL snapshot, and every device is told to sync. A conversation's
 * first change finds no marks either; it is handed over as a frame.
 */
export interface TenantDeliveryDeps {
  readonly tenant: string;
  readonly db: Database;
  readonly lists: DialogLists;
  readonly epoch: Epoch;
  readonly handOver: Omit<HandOverDeps, 'metrics'>;
  readonly metrics: ReturnType<typeof deliverMetrics>;
  readonly log: Log;
}

/** Users a script call works on at most; a longer one would hold up everybody's Redis. */
const CHUNK = 100;

interface Chain {
  epoch: string;
  last: bigint;
  handed: bigint;
  resync: bigint;
  /** Members since the last MEMBER change; valid because this owner sees every change in order. */
  recipients: readonly bigint[] | undefined;
}

export class TenantDelivery {
  readonly #deps: TenantDeliveryDeps;
  /** What this owner knows of conversations. Dropped with the shard. */
  readonly #chains = new Map<bigint, Chain>();
  readonly #types = new Map<bigint, number>();

  constructor(deps: TenantDeliveryDeps) {
    this.#deps = deps;
  }

  /** Brings the conversation up to the job's change. Throws when MySQL or Redis is away, or the shard is lost; then nothing is skipped. */
  async deliver(fence: Fence, job: DeliverJob): Promise<void> {
    try {
      await this.#deliver(fence, job);
    } catch (error) {
      this.#chains.delete(job.conversationId);
      if (!(error instanceof ChainMoved)) throw error;
      await this.#deliver(fence, job); // once more, from what Redis really says
    }
  }

  /**
   * The same for messages of one conversation, each the next of the one before. Where both marks stand right before them, the lists change in one
   * call, the frames are handed over in order and the marks move once: under load a conversation costs the same for one message as for many.
   */
  async deliverRun(fence: Fence, jobs: readonly DeliverJob[]): Promise<void> {
    if (jobs.length > 1 && (await this.#deliveredAtOnce(fence, jobs))) return;
    for (const job of jobs) await this.deliver(fence, job);
  }

  /** @returns false when they must be looked at one by one; what was done by then is not done again */
  async #deliveredAtOnce(fence: Fence, jobs: readonly DeliverJob[]): Promise<boolean> {
    const [first, last] = [jobs[0], jobs.at(-1)];
    if (first === undefined || last === undefined) return true;
    const { conversationId, prevChangeId } = first;
    const chain = this.#chains.get(conversationId);
    if (chain?.epoch !== this.#deps.epoch.known || chain.last !== prevChangeId || chain.handed !== prevChangeId) return false;
    const recipients = await this.#recipients(chain, first);
    if (recipients.length > CHUNK) return false;
    try {
      const change = { ...last, prevChangeId, preview: previewOf(last.data) };
      const devices = await this.#deps.lists.applyEffects(fence, change, runEffects(jobs, recipients), true);
      chain.last = last.changeId;
      await this.#handOver(jobs, recipients, devices);
      await this.#deps.lists.markHanded(fence, conversationId, last.changeId, prevChangeId);
      chain.handed = last.changeId;
      return true;
    } catch (error) {
      this.#chains.delete(conversationId);
      if (error instanceof ChainMoved) return false;
      throw error;
    }
  }

  /** Forgets everything that counts only while the shards are ours. */
  drop(): void {
    this.#chains.clear();
  }

  async #deliver(fence: Fence, job: DeliverJob): Promise<void> {
    const { conversationId, changeId, prevChangeId } = job;
    const known = this.#chains.get(conversationId);
    const chain = known?.epoch === this.#deps.epoch.known ? known : await this.#load(fence, job);
    if (changeId <= chain.last && changeId <= chain.handed && chain.resync <= chain.handed) {
      this.#deps.metrics.skipped();
      return;
    }
    if (chain.last === prevChangeId && chain.handed === prevChangeId && job.data !== '') return this.#apply(fence, chain, job);
    await this.#catchUp(fence, chain, job);
  }

  /** Work through the chain in MySQL up to the job's change. */
  async #catchUp(fence: Fence, chain: Chain, job: DeliverJob): Promise<void> {
    const { tenant, db } = this.#deps;
    if (chain.resync > chain.handed) await this.#tellToSync(fence, chain, job.conversationId);
    const from = chain.last < chain.handed ? chain.last : chain.handed;
    const upTo = job.changeId;
    if (upTo <= from) return;
    const changes = await changesBetween(db, tenant, job.conversationId, from, upTo);
    if (changes === undefined) throw new ChainMoved('the gap grew too long');
    for (const change of changes) await this.#apply(fence, chain, change);
  }

  /** One change: lists if they lack it, then hand-over if that lacks it. */
  async #apply(fence: Fence, chain: Chain, change: DeliverJob): Promise<void> {
    const recipients = await this.#recipients(chain, change);
    let devices: readonly Device[] | undefined;
    if (change.changeId > chain.last) {
      devices = await this.#applyEffects(fence, change, recipients);
      chain.last = change.changeId;
    }
    if (change.changeId > chain.handed) {
      await this.#handOver([change], recipients, devices ?? (await this.#deps.lists.presence(recipients)));
      await this.#deps.lists.markHanded(fence, change.conversationId, change.changeId, chain.handed);
      chain.handed = change.changeId;
    }
  }

  async #applyEffects(fence: Fence, change: DeliverJob, recipients: readonly bigint[]): Promise<readonly Device[]> {
    const preview = change.kind === CHANGE_KINDS.MESSAGE ? previewOf(change.data) : '';
    const effects = effectsOf(change, recipients);
    const devices: Device[] = [];
    for (let start = 0; start === 0 || start < effects.length; start += CHUNK) {
      const chunk = effects.slice(start, start + CHUNK);
      devices.push(...(await this.#deps.lists.applyEffects(fence, { ...change, preview }, chunk, start + CHUNK >= effects.length)));
    }
    return devices;
  }

  /** Frames to who is online; a dirty mark for whom that failed, and for the offline devices of a P2P conversation (C7: no rows for groups). */
  async #handOver(changes: readonly DeliverJob[], recipients: readonly bigint[], online: readonly Device[]): Promise<void> {
    const missed: Missed[] = [];
    for (const change of changes) {
      const failed = await this.#handOverFrame(change, online);
      missed.push(...failed.map(({ userId, deviceId }) => ({ userId, deviceId, conversationId: change.conversationId })));
    }
    const last = changes.at(-1);
    if (last?.kind === CHANGE_KINDS.MESSAGE) missed.push(...(await this.#offlineDevices(changes, recipients, online)));
    await markMissed(this.#deps.db, missed);
  }

  async #handOverFrame(change: DeliverJob, online: readonly Device[]): Promise<readonly Device[]> {
    const { tenant, db, log, metrics } = this.#deps;
    const frame = frameOf(change);
    if (frame === undefined) return [];
    const { conversationId, excludeDevice, actorId } = change;
    const devices = online.filter(({ userId, deviceId }) => userId !== actorId || deviceId !== excludeDevice);
    const onTimeout = ({ userId, deviceId }: Device): void => {
      markMissed(db, [{ userId, deviceId, conversationId }]).catch((error: unknown) => {
        log.warn({ error: error as Error, user_id: userId.toString() }, 'no dirty mark for an unacknowledged push');
      });
    };
    return handOver({ ...this.#deps.handOver, metrics }, devices, { tenant, frame, onTimeout });
  }

  /** Devices of a P2P conversation that are not here and did not send every one of these changes themselves. */
  async #offlineDevices(
    changes: readonly DeliverJob[],
    recipients: readonly bigint[],
    online: readonly Device[],
  ): Promise<readonly Missed[]> {
    const conversationId = changes[0]?.conversationId ?? 0n;
    if ((await this.#typeOf(conversationId)) !== CONVERSATION_TYPES.P2P) return [];
    const here = new Set(online.map(keyOf));
    const known = await knownDevices(this.#deps.db, recipients);
    const isSender = (device: Pick<Device, 'userId' | 'deviceId'>): boolean =>
      changes.every(({ actorId, excludeDevice }) => actorId === device.userId && excludeDevice === device.deviceId);
    return known.filter((device) => !here.has(keyOf(device)) && !isSender(device)).map((device) => ({ ...device, conversationId }));
  }

  async #typeOf(conversationId: bigint): Promise<number> {
    const known = this.#types.get(conversationId);
    if (known !== undefined) return known;
    const type = await conversationType(this.#deps.db, conversationId);
    if (this.#types.size > MAX_REMEMBERED) this.#types.clear();
    this.#types.set(conversationId, type);
    return type;
  }

  async #recipients(chain: Chain, change: DeliverJob): Promise<readonly bigint[]> {
    if (change.kind === CHANGE_KINDS.MEMBER) {
      chain.recipients = undefined; // who left is told this once, and is nobody's recipient afterwards
      return recipientsAt(this.#deps.db, change.conversationId, change.changeId);
    }
    chain.recipients ??= await recipientsAt(this.#deps.db, change.conversationId, change.changeId);
    return chain.recipients;
  }

  /** What Redis says about the conversation; a broken chain is rebuilt first. */
  async #load(fence: Fence, { conversationId, changeId, prevChangeId, data }: DeliverJob): Promise<Chain> {
    const { lists, epoch } = this.#deps;
    const current = await epoch.current();
    let marks = await lists.marks(conversationId);
    if (await this.#isBroken(marks, current, conversationId, changeId)) {
      // A conversation's first change, fresh from its transaction: begin there, so that what followed meanwhile arrives as frames too.
      const isNew = marks.last === undefined && prevChangeId === 0n && data !== '';
      await this.#rebuild(fence, conversationId, isNew ? changeId : undefined);
      marks = await lists.marks(conversationId);
    }
    if (marks.last === undefined || marks.handed === undefined) throw new ChainMoved('the marks vanished');
    const chain = { epoch: current, last: marks.last, handed: marks.handed, resync: marks.resync, recipients: undefined };
    if (this.#chains.size > MAX_REMEMBERED) this.#chains.clear();
    this.#chains.set(conversationId, chain);
    return chain;
  }

  async #isBroken(marks: Marks, epoch: string, conversationId: bigint, changeId: bigint): Promise<boolean> {
    const { last, handed, resync } = marks;
    if (marks.epoch !== epoch || last === undefined || handed === undefined) return true;
    const head = await headOf(this.#deps.db, conversationId);
    if (last > head || handed > head) return true;
    const reached = handed > resync ? handed : resync;
    const from = last < reached ? last : reached;
    if (from >= changeId) return false;
    return isGapTooLong(this.#deps.db, conversationId, from, changeId);
  }

  /** Sets everybody's entry absolutely at one consistent point of the chain, the head unless told. Starts again when somebody reads meanwhile. */
  async #rebuild(fence: Fence, conversationId: bigint, at?: bigint): Promise<void> {
    const { lists, db, log } = this.#deps;
    for (;;) {
      const snapshot = await db.transaction(
        async (tx) => {
          const head = at ?? (await headOf(tx, conversationId));
          const users = await usersAt(tx, conversationId, head);
          return {
            head,
            isFirstChange: await isFirstChange(tx, conversationId, head),
            users,
            preview: await previewAt(tx, conversationId),
          };
        },
        { snapshot: true },
      );
      const { users } = snapshot;
      let isDone = true;
      for (let start = 0; isDone && (start === 0 || start < users.length); start += CHUNK) {
        const chunk = { isFirst: start === 0, isFinal: start + CHUNK >= users.length };
        isDone = await lists.rebuild(fence, { conversationId, ...snapshot }, users.slice(start, start + CHUNK), chunk);
      }
      if (isDone) return;
      log.info({ conversation_id: conversationId.toString() }, 'rebuild of a conversation starts again');
    }
  }

  /** The hand-over stage of a rebuild: presence is read after the lists were set. */
  async #tellToSync(fence: Fence, chain: Chain, conversationId: bigint): Promise<void> {
    const { lists, db, tenant, metrics } = this.#deps;
    const devices = await lists.presence(await membersEver(db, conversationId));
    await handOver({ ...this.#deps.handOver, metrics }, devices, { tenant, frame: syncRequired(tenant, conversationId) });
    await lists.markHanded(fence, conversationId, chain.resync, undefined);
    chain.handed = chain.resync;
  }
}

/** Conversations one process remembers at most; more and it starts to remember anew. */
const MAX_REMEMBERED = 100_000;

function keyOf({ userId, deviceId }: Pick<Device, 'userId' | 'deviceId'>): string {
  return `${userId.toString()}:${deviceId.toString()}`;
}

function runEffects(jobs: readonly DeliverJob[], recipients: readonly bigint[]): ListEffect[] {
  return recipients.map((userId) => {
    const refs = jobs.filter(({ actorId }) => actorId !== userId).map(({ changeId }) => changeId);
    return { userId, op: refs.length === 0 ? '.' : '+', refs };
  });
}

function effectsOf(change: DeliverJob, recipients: readonly bigint[]): ListEffect[] {
  if (change.kind === CHANGE_KINDS.MESSAGE) {
    return runEffects([change], recipients);
  }
  if (change.kind !== CHANGE_KINDS.MEMBER) return recipients.map((userId) => ({ userId, op: '.', refs: [] }));
  const { joined = [], left = [] } = JSON.parse(change.data) as { joined?: string[]; left?: string[] };
  const [hasJoined, hasLeft] = [new Set(joined), new Set(left)];
  return recipients.map((userId) => {
    const id = userId.toString();
    return { userId, op: hasLeft.has(id) ? 'g' : hasJoined.has(id) ? '0' : '.', refs: [] };
  });
}
