import assert from 'node:assert/strict';
import { HandClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { markRead } from '#shared/tenant/dialog/mark-read.ts';
import { unreadAt } from '#shared/tenant/dialog/unread-count.ts';
import { readSweepMark } from '#shared/tenant/deliver/sweep-store.ts';
import { textMessage } from '#shared/testing/chat-world.ts';
import { DeliveryWorld } from '#shared/testing/delivery-world.ts';
import { startOwnRedis } from '#shared/testing/own-servers.ts';
import type { OwnRedis } from '#shared/testing/own-servers.ts';
import { eventually } from '#shared/testing/wait.ts';
import { SWEEP_SETTINGS, Sweeper } from './sweeper.ts';

describe('Sweeper', () => {
  let redis: OwnRedis;
  let world: DeliveryWorld;
  let clock: HandClock;
  let sweeper: Sweeper;

  beforeEach(async () => {
    redis = await startOwnRedis();
    world = await DeliveryWorld.open(redis);
    clock = new HandClock(Date.now());
    sweeper = newSweeper();
  });
  afterEach(async () => {
    await world.close();
    await redis.stop();
  });

  function newSweeper(): Sweeper {
    const { chat, lists, queue, process } = world;
    const deps = { tenant: 'default', db: chat.db, lists, epoch: process.epoch, queue, owner: process.owner, clock, log: silentLog };
    return new Sweeper(deps, SWEEP_SETTINGS);
  }
  const later = (): void => clock.step(Math.max(0, Date.now() - clock.nowMs()) + 2_000);
  /** Sends, but the job is lost on its way: the process died between COMMIT and the queue. */
  async function sendUnqueued(conversationId: bigint, sender: bigint): Promise<bigint> {
    const { chat, queue } = world;
    chat.enqueue = () => Promise.resolve();
    const { msgId } = await chat.writer().send(textMessage(conversationId, sender));
    chat.enqueue = (jobs) => queue.enqueue(jobs);
    return msgId;
  }

  it('brings a message that was committed and never queued to its recipients', async () => {
    const { one, other, conversationId } = await world.chat.friends();
    const receiving = await world.connect(other);
    const first = await world.chat.writer().send(textMessage(conversationId, one));
    await world.inStep(conversationId, first.msgId);
    const lost = await sendUnqueued(conversationId, one);
    later();
    assert.equal((await sweeper.sweep()).repairs, 1);
    await world.inStep(conversationId, lost);
    assert.deepEqual([receiving.messages, await world.unread(other, conversationId)], [[first.msgId, lost].map(String), 2]);
  });

  it('brings the first message of a conversation as a frame', async () => {
    const { one, other, conversationId } = await world.chat.friends();
    const receiving = await world.connect(other);
    const lost = await sendUnqueued(conversationId, one);
    later();
    await sweeper.sweep();
    await world.inStep(conversationId, lost);
    assert.deepEqual(receiving.messages, [String(lost)]);
  });

  it('leaves young changes and conversations in step alone', async () => {
    const { one, conversationId } = await world.chat.friends();
    const { msgId } = await world.chat.writer().send(textMessage(conversationId, one));
    await world.inStep(conversationId, msgId);
    later();
    assert.deepEqual(await sweeper.sweep(), { seen: 1, repairs: 0 });
    const young = await sendUnqueued(conversationId, one);
    clock = new HandClock(Date.now() - 500);
    assert.equal((await newSweeper().sweep()).repairs, 0);
    assert.notEqual((await world.lists.marks(conversationId)).last, young);
  });

  it('moves its mark over what is in step, never over what lags, and stays behind now', async () => {
    const { one, conversationId } = await world.chat.friends();
    const second = await world.chat.friends();
    const { msgId } = await world.chat.writer().send(textMessage(conversationId, one));
    await world.inStep(conversationId, msgId);
    await world.stopProcess(world.process); // nobody works the repair off
    const unqueued = await sendUnqueued(second.conversationId, second.one);
    const [row] = await world.chat.db.select<{ last_change_at: Date }>('SELECT last_change_at FROM t_conversations WHERE id = ?', [
      second.conversationId,
    ]);
    clock.step(3_600_000);
    await world.process.epoch.adopt();
    await sweeper.sweep();
    assert.equal((await readSweepMark(world.chat.db)).at.getTime(), (row?.last_change_at.getTime() ?? 0) - 1);
    world.process = await world.startProcess();
    const again = newSweeper();
    await again.sweep();
    await world.inStep(second.conversationId, unqueued);
    await again.sweep();
    assert.equal((await readSweepMark(world.chat.db)).at.getTime(), clock.nowMs() - SWEEP_SETTINGS.trailMs);
  });

  it('enqueues no second repair while the first one waits', async () => {
    const { one, conversationId } = await world.chat.friends();
    await world.stopProcess(world.process);
    await sendUnqueued(conversationId, one);
    later();
    await world.process.epoch.adopt();
    assert.equal((await sweeper.sweep()).repairs, 1);
    assert.equal((await sweeper.sweep()).repairs, 0);
  });

  it('fills an emptied Redis again to exactly what MySQL says, and tells the devices to sync (U4, INB-12, INB-13, ACC-34)', async () => {
    const chats: { other: bigint; conversationId: bigint; mark: bigint; head: bigint }[] = [];
    for (let n = 0; n < 30; n += 1) {
      const pair = await world.chat.friends();
      const writer = world.chat.writer();
      const sent = [];
      for (let m = 0; m < 4; m += 1) sent.push((await writer.send(textMessage(pair.conversationId, pair.one))).msgId);
      const read = { userId: pair.other, deviceId: 2n, conversationId: pair.conversationId, msgId: sent[n % 4] ?? 0n, traceId: 't' };
      await markRead({ db: world.chat.db, wake: () => undefined }, read);
      chats.push({ ...pair, mark: sent[n % 4] ?? 0n, head: sent[3] ?? 0n });
    }
    for (const { conversationId, head } of chats) await world.inStep(conversationId, head);
    later();
    await sweeper.sweep(); // the mark has passed them all
    await world.server.redis.flushall();
    const receiving = await world.connect(chats[0]?.other ?? 0n);
    await eventually(() => world.process.worker.isOwner, { what: 'the shards to be taken again' });
    await eventually(
      async () => {
        await sweeper.sweep();
        const marks = await world.lists.manyMarks(chats.map(({ conversationId }) => conversationId));
        return marks.every(({ handed }, n) => handed === chats[n]?.head);
      },
      { what: 'every conversation to be rebuilt', deadlineMs: 30_000 },
    );
    for (const { other, conversationId, mark, head } of chats) {
      assert.equal(await world.unread(other, conversationId), await unreadAt(world.chat.db, conversationId, other, mark, head));
    }
    assert.deepEqual(receiving.events, ['sync.required']);
  });
});
