import { ulid } from 'ulid';
import { CHANGE_KINDS, CONVERSATION_TYPES, MEMBER_ROLES } from '#shared/contract/commands.ts';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { WorkerLease } from '#shared/platform/id/worker-lease.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { appendChange } from '#shared/tenant/conversation/append-change.ts';
import { lockConversation } from '#shared/tenant/conversation/lock-conversation.ts';
import { ensureP2p } from '#shared/tenant/conversation/p2p-conversation.ts';
import type { DeliverJob } from '#shared/tenant/deliver/deliver-job.ts';
import { MessageWriter, WRITER_LIMITS } from '#shared/tenant/message/message-writer.ts';
import type { WriterLimits } from '#shared/tenant/message/message-writer.ts';
import { contentHash } from '#shared/tenant/message/new-message.ts';
import type { NewMessage } from '#shared/tenant/message/new-message.ts';
import { freshDatabase } from './database-per-test.ts';

/** A tenant database with people, conversations and a writer, for tests of the chat core. */
export class ChatWorld {
  readonly tenant = 'default';
  readonly db: Database;
  readonly lease: WorkerLease;
  /** Jobs that writers enqueued, in order, unless `enqueue` was replaced. */
  readonly jobs: DeliverJob[] = [];
  enqueue: (jobs: readonly DeliverJob[]) => Promise<void> = (jobs) => {
    this.jobs.push(...jobs);
    return Promise.resolve();
  };
  readonly #close: (() => Promise<void>)[] = [];

  private constructor(db: Database, lease: WorkerLease) {
    this.db = db;
    this.lease = lease;
  }

  static async open(): Promise<ChatWorld> {
    const [tenant, control] = [await freshDatabase('tenant'), await freshDatabase('control')];
    const range = { first: 0, last: 767, preferred: 1 };
    const lease = new WorkerLease({ control: control.open(2), clock: systemClock, log: silentLog, owner: 'test', range });
    await lease.start();
    const world = new ChatWorld(tenant.open(), lease);
    world.#close.push(
      () => lease.stop(),
      () => tenant.drop(),
      () => control.drop(),
    );
    world.#login = tenant.login;
    return world;
  }

  #login: { address: string; user: string; password: string } | undefined;

  /** Closes everything that was opened here and drops the databases. */
  async close(): Promise<void> {
    for (const close of this.#close) await close();
  }

  /** A writer on this database; several play several processes. */
  writer(limits: Partial<WriterLimits> = {}): MessageWriter {
    if (this.#login === undefined) throw new Error('not open');
    const deps = {
      tenant: this.tenant,
      login: this.#login,
      database: this.db.name,
      ids: this.lease.ids,
      clock: systemClock,
      log: silentLog,
    };
    const writer = new MessageWriter(
      { ...deps, proof: () => this.lease.proof, enqueue: (jobs) => this.enqueue(jobs) },
      { ...WRITER_LIMITS, ...limits },
    );
    this.#close.unshift(() => writer.close());
    return writer;
  }

  /** New users, on no device yet. */
  async users(count: number): Promise<bigint[]> {
    const now = new Date();
    const ids = Array.from({ length: count }, () => this.lease.ids.next());
    const rows = ids.map((id) => [id, `user-${id.toString()}`, Buffer.alloc(0), now, now]);
    await this.db.change('INSERT INTO t_users (id, name, password_hash, created_at, updated_at) VALUES ?', [rows]);
    return ids;
  }

  /** Two friends with their conversation. */
  async friends(): Promise<{ one: bigint; other: bigint; conversationId: bigint }> {
    const [one = 0n, other = 0n] = await this.users(2);
    await this.befriend(one, other);
    const conversationId = await this.db.transaction((tx) => ensureP2p({ ids: this.lease.ids }, tx, one, other));
    return { one, other, conversationId };
  }

  async befriend(one: bigint, other: bigint): Promise<void> {
    const now = new Date();
    const rows = [
      [one, other, 2, now, now],
      [other, one, 2, now, now],
    ];
    await this.db.change('INSERT INTO t_friends (user_id, friend_id, state, created_at, updated_at) VALUES ?', [rows]);
  }

  /** A group with its first change, all members joined by it; the first is the owner. */
  async group(members: readonly bigint[]): Promise<{ conversationId: bigint; created: DeliverJob }> {
    const conversationId = this.lease.ids.next();
    const now = new Date();
    const owner = members[0] ?? 0n;
    const created = await this.db.transaction(async (tx) => {
      await tx.change('INSERT INTO t_conversations (id, type, last_msg_at, last_change_at, created_at) VALUES (?, ?, ?, ?, ?)', [
        conversationId,
        CONVERSATION_TYPES.GROUP,
        now,
        now,
        now,
      ]);
      await tx.change('INSERT INTO t_groups (conversation_id, name, owner_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?)', [
        conversationId,
        'group',
        owner,
        now,
        now,
      ]);
      const rows = members.map((user) => [conversationId, user, user === owner ? MEMBER_ROLES.OWNER : MEMBER_ROLES.MEMBER, now]);
      await tx.change('INSERT INTO t_conversation_members (conversation_id, user_id, role, joined_at) VALUES ?', [rows]);
      const locked = await lockConversation(tx, conversationId);
      if (locked === undefined) throw new Error('not created');
      const payload = { joined: members.map(String) };
      const job = await appendChange({ ids: this.lease.ids, tenant: this.tenant }, tx, locked, {
        kind: CHANGE_KINDS.MEMBER,
        actorId: owner,
        payload,
      });
      const intervals = members.map((user) => [conversationId, user, job.changeId]);
      await tx.change('INSERT INTO t_member_intervals (conversation_id, user_id, join_change_id) VALUES ?', [intervals]);
      return job;
    });
    return { conversationId, created };
  }

  /** One member leaves: the change, the closed interval, the job. */
  async leave(conversationId: bigint, user: bigint): Promise<DeliverJob> {
    return this.db.transaction(async (tx) => {
      const locked = await lockConversation(tx, conversationId);
      if (locked === undefined) throw new Error('no such conversation');
      const payload = { left: [user.toString()] };
      const job = await appendChange({ ids: this.lease.ids, tenant: this.tenant }, tx, locked, {
        kind: CHANGE_KINDS.MEMBER,
        actorId: user,
        payload,
      });
      await tx.change('UPDATE t_conversation_members SET present = 0 WHERE conversation_id = ? AND user_id = ?', [conversationId, user]);
      const close = 'UPDATE t_member_intervals SET left_change_id = ? WHERE conversation_id = ? AND user_id = ? AND left_change_id IS NULL';
      await tx.change(close, [job.changeId, conversationId, user]);
      return job;
    });
  }
}

/** A text message that nothing is wrong with. */
export function textMessage(conversationId: bigint, senderId: bigint, overrides: Partial<NewMessage> & { text?: string } = {}): NewMessage {
  const { text = 'hello', ...rest } = overrides;
  const content = rest.content ?? Buffer.from(JSON.stringify({ t: 1, text }));
  const messageType = rest.messageType ?? 1;
  return {
    conversationId,
    senderId,
    senderDeviceId: 1n,
    clientMsgId: ulid(),
    notPush: false,
    ...rest,
    messageType,
    content,
    hash: contentHash(messageType, content),
  };
}
