import assert from 'node:assert/strict';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import { Keys } from '../dialog/keys.ts';
import { DialogLists } from './dialog-lists.ts';
import type { Fence, ListEffect, RebuiltUser } from './dialog-lists.ts';
import { Epoch } from './epoch.ts';
import { ShardOwner } from './shard-owner.ts';

/** The scripts themselves, one rule at a time: what happens when a caller dies between two calls, or believes what is no longer so. */
describe('DialogLists', () => {
  let server: FreshRedis;
  let epoch: Epoch;
  let owner: ShardOwner;
  let lists: DialogLists;
  let fence: Fence;
  let nextConversation = 1_000n;

  const base = (): string => `${server.code}:`;
  const keys = (): Keys => new Keys('default', base());
  const user = (userId: bigint, overrides: Partial<RebuiltUser> = {}): RebuiltUser => ({
    userId,
    mark: 0n,
    unread: 0,
    isGone: false,
    isMuted: false,
    ...overrides,
  });
  const plus = (userId: bigint, ...refs: bigint[]): ListEffect => ({ userId, op: '+', refs });
  const change = (conversationId: bigint, changeId: bigint, prevChangeId: bigint) => ({
    conversationId,
    changeId,
    prevChangeId,
    preview: '',
  });

  /** A conversation whose marks stand at `head`, handed over, with these users. */
  async function conversationAt(head: bigint, users: readonly RebuiltUser[]): Promise<bigint> {
    const conversationId = (nextConversation += 1n);
    const at = { conversationId, head, isFirstChange: false, preview: '' };
    assert.equal(await lists.rebuild(fence, at, users, { isFirst: true, isFinal: true }), true);
    await lists.markHanded(fence, conversationId, head, undefined);
    return conversationId;
  }
  async function entry(userId: bigint, conversationId: bigint) {
    const dialogs = await lists.changedSince(userId, 0n, 1_000);
    return dialogs.find((dialog) => dialog.conversationId === conversationId.toString());
  }
  const unread = async (userId: bigint, conversationId: bigint): Promise<number | undefined> =>
    (await entry(userId, conversationId))?.unread;

  before(async () => {
    server = await freshRedis();
    const redis = await server.connect();
    epoch = new Epoch(redis, base());
    owner = new ShardOwner(redis, epoch, 'p', base());
    await owner.acquire([0]);
    fence = { shard: 0, lease: owner.lease };
    lists = new DialogLists({ redis, epoch, keys: keys(), base: base() });
  });
  after(() => server.close());

  it('goes on behind the last user when a change is applied again after a crash between two chunks', async () => {
    const cid = await conversationAt(50n, [user(9n), user(10n), user(100n)]);
    await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(9n, 60n), plus(10n, 60n)], false);
    await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(9n, 60n), plus(10n, 60n)], false);
    await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(9n, 60n), plus(10n, 60n), plus(100n, 60n)], true);
    assert.deepEqual([await unread(9n, cid), await unread(10n, cid), await unread(100n, cid)], [1, 1, 1]);
  });

  it('takes progress of another change for none', async () => {
    const cid = await conversationAt(50n, [user(1n), user(2n)]);
    await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n)], false);
    await lists.applyEffects(fence, change(cid, 70n, 50n), [plus(1n, 70n), plus(2n, 70n)], true);
    assert.deepEqual([await unread(1n, cid), await unread(2n, cid)], [2, 1]);
  });

  it('moves each mark only from the change before', async () => {
    const cid = await conversationAt(50n, [user(1n)]);
    await assert.rejects(lists.applyEffects(fence, change(cid, 70n, 60n), [plus(1n, 70n)], true), { name: 'ChainMoved' });
    await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n)], true);
    await assert.rejects(lists.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n)], true), { name: 'ChainMoved' });
    await assert.rejects(lists.markHanded(fence, cid, 70n, 60n), { name: 'ChainMoved' });
    await lists.markHanded(fence, cid, 60n, 50n);
    const marks = await lists.marks(cid);
    assert.deepEqual([marks.last, marks.handed, await unread(1n, cid)], [60n, 60n, 1]);
  });

  it('counts nothing at or below the read mark, and compares ids as numbers, not as text', async () => {
    const cid = await conversationAt(99n, [user(1n, { mark: 100n }), user(2n, { mark: 99n })]);
    await lists.applyEffects(fence, change(cid, 100n, 99n), [plus(1n, 100n), plus(2n, 100n)], true);
    assert.deepEqual([await unread(1n, cid), await unread(2n, cid)], [0, 1]);
  });

  it('counts each message of a run that is above the read mark', async () => {
    const cid = await conversationAt(50n, [user(1n, { mark: 70n }), user(2n, { mark: 50n }), user(3n)]);
    const run = change(cid, 90n, 50n);
    const own: ListEffect = { userId: 3n, op: '.', refs: [] };
    await lists.applyEffects(fence, run, [plus(1n, 60n, 70n, 80n, 90n), plus(2n, 60n, 90n), own], true);
    assert.deepEqual([await unread(1n, cid), await unread(2n, cid), await unread(3n, cid)], [2, 2, 0]);
    assert.equal((await lists.marks(cid)).last, 90n);
  });

  it('takes one back for a recalled message that was unread, never below zero', async () => {
    const cid = await conversationAt(50n, [user(1n, { unread: 1, mark: 40n }), user(2n, { mark: 50n })]);
    const minus = (userId: bigint): ListEffect => ({ userId, op: '-', refs: [50n] });
    await lists.applyEffects(fence, change(cid, 60n, 50n), [minus(1n), minus(2n)], true);
    await lists.applyEffects(fence, change(cid, 70n, 60n), [minus(1n), minus(2n)], true);
    assert.deepEqual([await unread(1n, cid), await unread(2n, cid)], [0, 0]);
  });

  it('keeps a muted conversation in the read list and counts all the same (INB-07)', async () => {
    const cid = await conversationAt(50n, [user(1n, { isMuted: true })]);
    await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n)], true);
    const redis = server.redis;
    assert.equal(await redis.zscore(keys().unread(1n), cid.toString()), null);
    assert.notEqual(await redis.zscore(keys().read(1n), cid.toString()), null);
    assert.deepEqual([await unread(1n, cid), (await entry(1n, cid))?.muted], [1, true]);
  });

  it('gives every list change of a user a score of its own, rising (SYN-06, U2)', async () => {
    const reader = 77n;
    const conversations = [];
    for (let n = 0; n < 20; n += 1) conversations.push(await conversationAt(50n, [user(reader)]));
    const scores = (await lists.changedSince(reader, 0n, 100)).map(({ score }) => BigInt(score));
    assert.equal(new Set(scores).size, 20);
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => (a < b ? -1 : 1)),
    );
    const [first = 0n] = scores;
    const page = await lists.changedSince(reader, first, 5);
    assert.deepEqual(
      page.map(({ score }) => BigInt(score)),
      scores.slice(1, 6),
    );
    await lists.applyEffects(fence, change(conversations[0] ?? 0n, 60n, 50n), [plus(reader, 60n)], true);
    const [moved, ...others] = await lists.changedSince(reader, scores.at(-1) ?? 0n, 100);
    assert.deepEqual([moved?.conversationId, others.length], [conversations[0]?.toString(), 0]);
  });

  describe('a read step', () => {
    const read = (conversationId: bigint, overrides: Partial<Parameters<DialogLists['applyRead']>[0]>) => ({
      conversationId,
      userId: 2n,
      position: 50n,
      mark: 50n,
      unread: 0,
      ...overrides,
    });

    it('is refused when a change came between asking and setting, and right when asked again', async () => {
      const cid = await conversationAt(50n, [user(1n), user(2n, { unread: 3 })]);
      const position = await lists.readPosition(cid, 2n);
      await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(2n, 60n)], true);
      assert.equal(await lists.applyRead(read(cid, { position })), false);
      assert.equal(await unread(2n, cid), 4);
      assert.equal(await lists.applyRead(read(cid, { position: await lists.readPosition(cid, 2n), unread: 1 })), true);
      assert.equal(await unread(2n, cid), 1);
    });

    it('knows that a change in progress has reached some users and not others', async () => {
      const cid = await conversationAt(50n, [user(9n), user(10n)]);
      await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(9n, 60n)], false);
      assert.deepEqual([await lists.readPosition(cid, 9n), await lists.readPosition(cid, 10n)], [60n, 50n]);
    });

    it('costs the delivery of its process nothing when it is refused', async () => {
      const cid = await conversationAt(50n, [user(2n)]);
      assert.equal(await lists.applyRead(read(cid, { position: 40n })), false);
      await owner.take([0], { jobs: 1, shards: 1 });
      assert.deepEqual([...owner.held], [0]);
    });

    it('leaves a conversation gone that its user has left meanwhile, with nothing of it to see', async () => {
      const cid = await conversationAt(50n, [user(2n, { unread: 3 })]);
      await lists.applyEffects(fence, { ...change(cid, 60n, 50n), preview: '{}' }, [{ userId: 2n, op: 'g', refs: [60n] }], true);
      assert.equal(await lists.applyRead(read(cid, { position: await lists.readPosition(cid, 2n) })), true);
      const { left, preview } = (await entry(2n, cid)) ?? {};
      assert.deepEqual([left, preview], [true, '']);
    });

    it('never takes the mark back', async () => {
      const cid = await conversationAt(50n, [user(2n, { mark: 50n })]);
      assert.equal(await lists.applyRead(read(cid, { mark: 9n, unread: 2 })), false);
      assert.equal(await unread(2n, cid), 0);
    });

    it('only raises the mark on a broken chain, and the rebuild then asks MySQL again', async () => {
      const cid = (nextConversation += 1n);
      assert.equal(await lists.readPosition(cid, 2n), undefined);
      assert.equal(await lists.applyRead(read(cid, { position: undefined, mark: 40n })), true);
      const at = { conversationId: cid, head: 50n, isFirstChange: false, preview: '' };
      assert.equal(await lists.rebuild(fence, at, [user(2n, { mark: 30n, unread: 9 })], { isFirst: true, isFinal: true }), false);
      assert.equal(await lists.rebuild(fence, at, [user(2n, { mark: 40n, unread: 1 })], { isFirst: true, isFinal: true }), true);
      assert.equal(await unread(2n, cid), 1);
    });
  });

  describe('a rebuild in chunks', () => {
    it('gives finished users the head as their position, the others none, and goes on only with the same head', async () => {
      const cid = await conversationAt(50n, [user(9n), user(10n)]);
      const at = { conversationId: cid, head: 80n, isFirstChange: false, preview: '' };
      await lists.rebuild(fence, at, [user(9n, { unread: 5 })], { isFirst: true, isFinal: false });
      assert.deepEqual([await lists.readPosition(cid, 9n), await lists.readPosition(cid, 10n)], [80n, undefined]);
      await assert.rejects(lists.applyEffects(fence, change(cid, 60n, 50n), [plus(9n, 60n)], true), { name: 'ChainMoved' });
      assert.equal(await lists.rebuild(fence, { ...at, head: 90n }, [user(10n)], { isFirst: false, isFinal: true }), false);
      assert.equal(await lists.rebuild(fence, at, [user(10n, { unread: 2 })], { isFirst: false, isFinal: true }), true);
      assert.deepEqual(await lists.marks(cid), { epoch: epoch.known, last: 80n, handed: 0n, resync: 80n });
      assert.deepEqual([await unread(9n, cid), await unread(10n, cid)], [5, 2]);
    });

    it('clears the progress of whatever was applied before it', async () => {
      const cid = await conversationAt(50n, [user(1n), user(2n)]);
      await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n)], false);
      const at = { conversationId: cid, head: 50n, isFirstChange: false, preview: '' };
      await lists.rebuild(fence, at, [user(1n), user(2n)], { isFirst: true, isFinal: true });
      await lists.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n), plus(2n, 60n)], true);
      assert.deepEqual([await unread(1n, cid), await unread(2n, cid)], [1, 1]);
    });
  });

  it('works for nobody who was told an earlier epoch', async () => {
    const cid = await conversationAt(50n, [user(1n)]);
    const redis = await server.connect();
    const stale = new DialogLists({
      redis,
      epoch: { current: () => Promise.resolve('0123'), forget: () => undefined } as unknown as Epoch,
      keys: keys(),
      base: base(),
    });
    await assert.rejects(stale.applyEffects(fence, change(cid, 60n, 50n), [plus(1n, 60n)], true), { name: 'Fenced' });
    assert.equal(await stale.applyRead({ conversationId: cid, userId: 1n, position: 50n, mark: 50n, unread: 0 }), false);
    assert.equal(await stale.readPosition(cid, 1n), undefined);
  });
});
