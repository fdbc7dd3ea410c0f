import { COMMANDS } from '#shared/contract/commands.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { Redis, RedisLogin } from '#shared/platform/redis/redis.ts';
import { DeliverQueue } from '#shared/tenant/deliver/deliver-queue.ts';
import { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import { Epoch } from '#shared/tenant/deliver/epoch.ts';
import { ShardOwner } from '#shared/tenant/deliver/shard-owner.ts';
import { Keys } from '#shared/tenant/dialog/keys.ts';
import { bindDevice } from '#shared/tenant/presence/presence-store.ts';
import { DeliverWorker } from '../../im-core/deliver/deliver-worker.ts';
import { deliverMetrics } from '../../im-core/deliver/hand-over.ts';
import { TenantDelivery } from '../../im-core/deliver/tenant-delivery.ts';
import { Sessions } from '../../im-core/gateway/sessions.ts';
import type { OutFrame, PushExpectation, Session } from '../../im-core/gateway/sessions.ts';
import { ChatWorld } from './chat-world.ts';
import { freshRedis } from './redis.ts';
import type { FreshRedis } from './redis.ts';
import { eventually } from './wait.ts';

/** A device that keeps what is pushed to it. */
export class FakeSession implements Session {
  readonly tenant = 'default';
  readonly realIp = '203.0.113.9';
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly connectionId: string;
  readonly frames: { command: number; data: Record<string, unknown> }[] = [];
  readonly waiting: PushExpectation[] = [];
  accepts = true;

  constructor(userId: bigint, deviceId: bigint, connectionId: string) {
    this.userId = userId;
    this.deviceId = deviceId;
    this.connectionId = connectionId;
  }

  push(frame: OutFrame, expectation?: PushExpectation): boolean {
    if (!this.accepts) return false;
    if (expectation !== undefined) this.waiting.push(expectation);
    const { data } = JSON.parse(frame.body.toString()) as { data: Record<string, unknown> };
    this.frames.push({ command: frame.command, data });
    return true;
  }

  kick(): void {
    this.accepts = false;
  }

  close(): void {
    this.accepts = false;
  }

  /** Ids of the messages it got, in order. */
  get messages(): string[] {
    return this.frames.filter(({ command }) => command === COMMANDS.MESSAGE).map(({ data }) => String(data.msg_id));
  }

  /** Names of the events it got, in order. */
  get events(): string[] {
    return this.frames.filter(({ command }) => command === COMMANDS.EVENT).map(({ data }) => String(data.event));
  }
}

/** What one im-core process has of delivery. */
export interface DeliveryProcess {
  readonly worker: DeliverWorker;
  readonly owner: ShardOwner;
  readonly epoch: Epoch;
  readonly sessions: Sessions;
  readonly redis: Redis;
  readonly processId: string;
}

/** A chat world with Redis, a delivery queue and a running delivery process. */
export class DeliveryWorld {
  readonly chat: ChatWorld;
  readonly server: FreshRedis;
  readonly base: string;
  readonly keys: Keys;
  readonly lists: DialogLists;
  readonly queue: DeliverQueue;
  /** The process that devices connect to unless told. */
  process!: DeliveryProcess;
  readonly #running: DeliverWorker[] = [];
  #counter = 0;

  private constructor(chat: ChatWorld, server: FreshRedis, redis: Redis) {
    this.chat = chat;
    this.server = server;
    this.base = `${server.code}:`;
    this.keys = new Keys('default', this.base);
    this.lists = new DialogLists({ redis, epoch: new Epoch(redis, this.base), keys: this.keys, base: this.base });
    this.queue = new DeliverQueue(redis, this.base);
    chat.enqueue = (jobs) => this.queue.enqueue(jobs);
  }

  /** @param login a Redis of its own, for tests that empty or stop it */
  static async open(login?: RedisLogin): Promise<DeliveryWorld> {
    const chat = await ChatWorld.open();
    const server = await freshRedis(login);
    const world = new DeliveryWorld(chat, server, await server.connect());
    world.process = await world.startProcess();
    return world;
  }

  async close(): Promise<void> {
    for (const worker of this.#running) await worker.stop();
    await this.chat.close();
    await this.server.close();
  }

  async startProcess(): Promise<DeliveryProcess> {
    const [redis, waiting] = [await this.server.connect(), await this.server.connect()];
    const processId = `p${String((this.#counter += 1))}`;
    const epoch = new Epoch(redis, this.base);
    const sessions = new Sessions();
    const metrics = deliverMetrics(new Metrics());
    const delivery = new TenantDelivery({
      tenant: 'default',
      db: this.chat.db,
      lists: new DialogLists({ redis, epoch, keys: this.keys, base: this.base }),
      epoch,
      handOver: { sessions, redis, processId, base: this.base },
      metrics,
      log: silentLog,
    });
    const owner = new ShardOwner(redis, epoch, processId, this.base);
    const deps = { owner, redis, waiting, base: this.base, tenants: new Map([['default', delivery]]), metrics, log: silentLog };
    const worker = new DeliverWorker(deps, { workers: 8, takeTimeoutMs: 1_000 });
    await worker.start();
    this.#running.push(worker);
    return { worker, owner, epoch, sessions, redis, processId };
  }

  async stopProcess({ worker }: DeliveryProcess): Promise<void> {
    await worker.stop();
    this.#running.splice(this.#running.indexOf(worker), 1);
  }

  /** A device that logged in. */
  async connect(userId: bigint, deviceId = 2n, to = this.process): Promise<FakeSession> {
    const session = new FakeSession(userId, deviceId, `c${String((this.#counter += 1)).padStart(6, '0')}`);
    await bindDevice({ redis: to.redis, keys: this.keys, processId: to.processId }, session);
    to.sessions.bind(session);
    return session;
  }

  async unread(userId: bigint, conversationId: bigint): Promise<number> {
    const dialogs = await this.lists.changedSince(userId, 0n, 100);
    return dialogs.find((dialog) => dialog.conversationId === conversationId.toString())?.unread ?? 0;
  }

  /** Resolves when a change was handed over. */
  async inStep(conversationId: bigint, changeId: bigint): Promise<void> {
    await eventually(async () => (await this.lists.marks(conversationId)).handed === changeId, {
      what: `change ${changeId.toString()} to be handed over`,
    });
  }
}
