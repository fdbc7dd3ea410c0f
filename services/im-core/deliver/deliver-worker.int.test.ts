import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import type { DeliverQueue } from '#shared/tenant/deliver/deliver-queue.ts';
import { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import { Epoch } from '#shared/tenant/deliver/epoch.ts';
import { ShardOwner } from '#shared/tenant/deliver/shard-owner.ts';
import type { Keys } from '#shared/tenant/dialog/keys.ts';
import { markRead } from '#shared/tenant/dialog/mark-read.ts';
import { applyReadStep } from '#shared/tenant/dialog/read-step.ts';
import { unreadAt } from '#shared/tenant/dialog/unread-count.ts';
import { unbindDevice } from '#shared/tenant/presence/presence-store.ts';
import { textMessage } from '#shared/testing/chat-world.ts';
import type { ChatWorld } from '#shared/testing/chat-world.ts';
import { DeliveryWorld } from '#shared/testing/delivery-world.ts';
import type { FakeSession } from '#shared/testing/delivery-world.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { eventually } from '#shared/testing/wait.ts';

describe('DeliverWorker', () => {
  let delivery: DeliveryWorld;
  let world: ChatWorld;
  let server: FreshRedis;
  let lists: DialogLists;
  let queue: DeliverQueue;

  const keys = (): Keys => delivery.keys;
  const connect = (userId: bigint, deviceId?: bigint): Promise<FakeSession> => delivery.connect(userId, deviceId);
  const unread = (userId: bigint, conversationId: bigint): Promise<number> => delivery.unread(userId, conversationId);
  const inStep = (conversationId: bigint, changeId: bigint): Promise<void> => delivery.inStep(conversationId, changeId);

  before(async () => {
    delivery = await DeliveryWorld.open();
    ({ chat: world, server, lists, queue } = delivery);
  });
  after(() => delivery.close());

  it('pushes to every device but the sending one, counts for the others only, and leaves no mailbox row (INV-19, MBX-05, ACC-32)', async () => {
    const { one, other, conversationId } = await world.friends();
    const [sending, second, receiving] = [await connect(one, 1n), await connect(one, 2n), await connect(other)];
    const { msgId } = await world.writer().send(textMessage(conversationId, one));
    await inStep(conversationId, msgId);
    assert.deepEqual([sending.messages, second.messages, receiving.messages], [[], [String(msgId)], [String(msgId)]]);
    assert.deepEqual([await unread(one, conversationId), await unread(other, conversationId)], [0, 1]);
    const rows = await world.db.select('SELECT id FROM t_mailbox_events WHERE conversation_id = ?', [conversationId]);
    assert.equal(rows.length, 0);
  });

  it('delivers 300 concurrent messages of 20 members in order, once, with exact counts (INV-10, INV-18)', async () => {
    const members = await world.users(20);
    const { conversationId, created } = await world.group(members);
    await queue.enqueue([created]);
    const reader = await connect(members[0] ?? 0n);
    const writers = [world.writer(), world.writer()];
    const sent = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        (writers[n % 2] ?? world.writer()).send(textMessage(conversationId, members[n % 20] ?? 0n, { senderDeviceId: 9n })),
      ),
    );
    const ids = sent.map(({ msgId }) => msgId).sort((a, b) => (a < b ? -1 : 1));
    await inStep(conversationId, ids.at(-1) ?? 0n);
    assert.deepEqual(reader.messages, ids.map(String));
    for (const member of members) assert.equal(await unread(member, conversationId), 285);
  });

  it('does a job that comes again, late or doubled, only once (INV-18, DLV-25)', async () => {
    const { one, other, conversationId } = await world.friends();
    const receiving = await connect(other);
    const jobs: Parameters<DeliverQueue['enqueue']>[0][number][] = [];
    const queued = world.enqueue;
    world.enqueue = (each) => {
      jobs.push(...each);
      return Promise.resolve();
    };
    const writer = world.writer();
    const sent = [];
    for (let n = 0; n < 4; n += 1) sent.push(await writer.send(textMessage(conversationId, one)));
    world.enqueue = queued;
    const [first, second, third, fourth] = jobs;
    assert.ok(first && second && third && fourth);
    await queue.enqueue([first]);
    await inStep(conversationId, first.changeId);
    await queue.enqueue([third, second, third, first]); // the second came late
    await inStep(conversationId, third.changeId);
    await queue.enqueue([{ ...fourth, data: '', prevChangeId: 0n }]); // what a retry of the sender enqueues
    await inStep(conversationId, fourth.changeId);
    assert.deepEqual(
      receiving.messages,
      sent.map(({ msgId }) => String(msgId)),
    );
    assert.equal(await unread(other, conversationId), 4);
  });

  it('makes up for a job that was never queued when the next change comes', async () => {
    const { one, other, conversationId } = await world.friends();
    const receiving = await connect(other);
    const writer = world.writer();
    const first = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, first.msgId);
    const queued = world.enqueue;
    world.enqueue = () => Promise.resolve();
    const lost = await writer.send(textMessage(conversationId, one));
    world.enqueue = queued;
    const next = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, next.msgId);
    assert.deepEqual(
      receiving.messages,
      [first, lost, next].map(({ msgId }) => String(msgId)),
    );
    assert.equal(await unread(other, conversationId), 3);
  });

  it('takes over what a dead owner had taken, without counting twice (ACC-26)', async () => {
    const { one, other, conversationId } = await world.friends();
    const writer = world.writer();
    const first = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, first.msgId);
    await delivery.stopProcess(delivery.process);
    // An owner that died after it took the job and applied the lists: everything but the hand-over is done.
    const redis = await server.connect();
    const base = `${server.code}:`;
    const epoch = new Epoch(redis, base);
    const dead = new ShardOwner(redis, epoch, 'dead', base);
    await dead.acquire(Array.from({ length: 64 }, (_, shard) => shard));
    const second = await writer.send(textMessage(conversationId, one));
    const taken = await dead.take([...dead.held], { jobs: 64, shards: 64 });
    const [[shard] = [0]] = [...taken];
    const deadLists = new DialogLists({ redis, epoch, keys: keys(), base });
    const effects = [
      { userId: one, op: '.' as const, refs: [second.msgId] },
      { userId: other, op: '+' as const, refs: [second.msgId] },
    ].sort((a, b) => (a.userId < b.userId ? -1 : 1));
    const change = { conversationId, changeId: second.msgId, prevChangeId: first.msgId, preview: '' };
    await deadLists.applyEffects({ shard, lease: dead.lease }, change, effects, true);
    await dead.release();
    delivery.process = await delivery.startProcess();
    const receiving = await connect(other);
    await inStep(conversationId, second.msgId);
    assert.equal(await unread(other, conversationId), 2);
    assert.deepEqual(receiving.messages.slice(-1), [String(second.msgId)].slice(0, receiving.messages.length));
  });

  it('lets nobody write under a lease that is lost', async () => {
    const { one, other, conversationId } = await world.friends();
    const first = await world.writer().send(textMessage(conversationId, one));
    await inStep(conversationId, first.msgId);
    const change = { conversationId, changeId: first.msgId + 1n, prevChangeId: first.msgId, preview: '' };
    const stale = { shard: 0, lease: 'p0|00' };
    await assert.rejects(lists.applyEffects(stale, change, [{ userId: other, op: '+', refs: [first.msgId + 1n] }], true), {
      name: 'Fenced',
    });
    await assert.rejects(lists.markHanded(stale, conversationId, first.msgId + 1n, first.msgId), { name: 'Fenced' });
    assert.equal(await unread(other, conversationId), 1);
  });

  it('takes the counter back to what MySQL says when somebody reads between messages (MSG-68)', async () => {
    const { one, other, conversationId } = await world.friends();
    const writer = world.writer();
    const sent = [];
    for (let n = 0; n < 5; n += 1) sent.push(await writer.send(textMessage(conversationId, one)));
    const third = sent[2]?.msgId ?? 0n;
    await markRead({ db: world.db, wake: () => undefined }, { userId: other, deviceId: 2n, conversationId, msgId: third, traceId: 't' });
    await applyReadStep({ db: world.db, lists }, conversationId, other);
    const last = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, last.msgId);
    assert.equal(await unread(other, conversationId), 3);
    assert.equal(await unreadAt(world.db, conversationId, other, third, last.msgId), 3);
  });

  it('counts nothing while a read races with 50 messages', async () => {
    const { one, other, conversationId } = await world.friends();
    const writer = world.writer();
    const sends = Array.from({ length: 50 }, () => writer.send(textMessage(conversationId, one)));
    const reads = sends.map(async (send) => {
      const { msgId } = await send;
      await markRead({ db: world.db, wake: () => undefined }, { userId: other, deviceId: 2n, conversationId, msgId, traceId: 't' });
      await applyReadStep({ db: world.db, lists }, conversationId, other);
    });
    await Promise.all(reads);
    const last =
      (await Promise.all(sends))
        .map(({ msgId }) => msgId)
        .sort((a, b) => (a < b ? -1 : 1))
        .at(-1) ?? 0n;
    await inStep(conversationId, last);
    await applyReadStep({ db: world.db, lists }, conversationId, other);
    assert.equal(await unread(other, conversationId), 0);
  });

  it('rebuilds a conversation whose marks are gone and tells the devices to sync', async () => {
    const { one, other, conversationId } = await world.friends();
    const receiving = await connect(other);
    const writer = world.writer();
    const first = await writer.send(textMessage(conversationId, one));
    const second = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, second.msgId);
    await markRead(
      { db: world.db, wake: () => undefined },
      { userId: other, deviceId: 2n, conversationId, msgId: first.msgId, traceId: 't' },
    );
    const redis = await server.connect();
    await redis.del(
      keys().deliver(conversationId),
      keys().unreadCount(other),
      keys().unread(other),
      keys().readMark(other),
      keys().read(other),
    );
    const third = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, third.msgId);
    assert.equal(await unread(other, conversationId), 2);
    assert.ok(receiving.frames.some(({ command, data }) => command === COMMANDS.EVENT && data.event === 'sync.required'));
  });

  it('tells who left, keeps his list entry as gone, and counts nothing for him any more (MSG-31)', async () => {
    const [owner = 0n, member = 0n] = await world.users(2);
    const { conversationId, created } = await world.group([owner, member]);
    await queue.enqueue([created]);
    const receiving = await connect(member);
    const writer = world.writer();
    const before = await writer.send(textMessage(conversationId, owner));
    await inStep(conversationId, before.msgId);
    const left = await world.leave(conversationId, member);
    await queue.enqueue([left]);
    const afterwards = await writer.send(textMessage(conversationId, owner));
    await inStep(conversationId, afterwards.msgId);
    assert.deepEqual(receiving.messages, [String(before.msgId)]);
    const [dialog] = await lists.changedSince(member, 0n, 10);
    assert.deepEqual([dialog?.left, dialog?.unread, dialog?.preview], [true, 0, '']);
  });

  it('leaves one dirty mark for a device that takes nothing and for an offline P2P device, none for an offline group member (C7, X-54)', async () => {
    const { one, other, conversationId } = await world.friends();
    const now = new Date();
    await world.db.change('INSERT INTO t_devices (user_id, device_id, created_at, last_seen_at) VALUES (?, 7, ?, ?)', [other, now, now]);
    const stuck = await connect(other, 8n);
    stuck.accepts = false;
    const writer = world.writer();
    await writer.send(textMessage(conversationId, one));
    const last = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, last.msgId);
    const rows = await world.db.select<{ device_id: string }>(
      'SELECT device_id FROM t_mailbox_events WHERE user_id = ? ORDER BY device_id',
      [other],
    );
    assert.deepEqual(
      rows.map((row) => row.device_id),
      ['7', '8'],
    );
    const group = await world.group([one, other]);
    await queue.enqueue([group.created]);
    await unbindDevice({ redis: delivery.process.redis, keys: keys(), processId: delivery.process.processId }, stuck);
    const { msgId } = await writer.send(textMessage(group.conversationId, one));
    await inStep(group.conversationId, msgId);
    const ofGroup = await world.db.select('SELECT id FROM t_mailbox_events WHERE conversation_id = ?', [group.conversationId]);
    assert.equal(ofGroup.length, 0);
  });

  it('leaves a dirty mark when no PUSH_ACK came, and the session stays (SES-09)', async () => {
    const { one, other, conversationId } = await world.friends();
    const receiving = await connect(other, 3n);
    const { msgId } = await world.writer().send(textMessage(conversationId, one));
    await inStep(conversationId, msgId);
    receiving.waiting[0]?.onTimeout();
    const marks = (): Promise<readonly { device_id: string }[]> =>
      world.db.select<{ device_id: string }>('SELECT device_id FROM t_mailbox_events WHERE user_id = ?', [other]);
    await eventually(async () => (await marks()).length === 1, { what: 'the dirty mark' });
    assert.deepEqual([(await marks())[0]?.device_id, receiving.accepts], ['3', true]);
  });

  it('doubles nothing when a message is sent again after everything that expires in Redis is gone (S1, DLV-03)', async () => {
    const { one, other, conversationId } = await world.friends();
    const writer = world.writer();
    const message = textMessage(conversationId, one);
    const { msgId } = await writer.send(message);
    await inStep(conversationId, msgId);
    const redis = await server.connect();
    for (const key of await redis.keys(`*${server.code}*`))
      if ((await redis.pttl(key)) >= 0 && !key.includes('lease')) await redis.del(key);
    assert.equal((await writer.send(message)).msgId, msgId);
    const next = await writer.send(textMessage(conversationId, one));
    await inStep(conversationId, next.msgId);
    assert.equal(await unread(other, conversationId), 2);
  });

  const mishaps: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['its connection was cut', async () => server.redis.client('KILL', 'ID', await delivery.process.redis.client('ID'))],
    ['Redis forgot epoch and leases', () => server.redis.del(`${delivery.base}im:epoch`, ...leaseKeys())],
  ];
  const leaseKeys = (): string[] => Array.from({ length: 64 }, (_, shard) => `${delivery.base}deliver:lease:${String(shard)}`);
  for (const [what, mishap] of mishaps) {
    it(`goes on at once after ${what}`, async () => {
      const { one, conversationId } = await world.friends();
      const writer = world.writer();
      const first = await writer.send(textMessage(conversationId, one));
      await inStep(conversationId, first.msgId);
      await mishap();
      const { msgId } = await writer.send(textMessage(conversationId, one));
      const handed = async (): Promise<boolean> => (await lists.marks(conversationId)).handed === msgId;
      await eventually(handed, { what: 'the message to be handed over', deadlineMs: 2_000 });
    });
  }

  it('waits while MySQL rows cannot be read and loses nothing', async () => {
    const { one, other, conversationId } = await world.friends();
    await queue.enqueue([
      {
        tenant: 'default',
        conversationId,
        changeId: 5n,
        prevChangeId: 3n,
        kind: 1,
        actorId: one,
        excludeDevice: 0n,
        notPush: false,
        data: '',
      },
    ]);
    const receiving = await connect(other);
    const { msgId } = await world.writer().send(textMessage(conversationId, one));
    await inStep(conversationId, msgId);
    assert.ok(receiving.messages.length <= 1);
    assert.equal(await unread(other, conversationId), 1);
  });
});
