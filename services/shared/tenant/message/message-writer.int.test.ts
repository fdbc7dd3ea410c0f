import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import { ChatWorld, textMessage } from '#shared/testing/chat-world.ts';
import { ensureP2p } from '../conversation/p2p-conversation.ts';
import { within } from '#shared/testing/wait.ts';
import { getMessagesAfter } from './get-messages.ts';
import { laneOf } from './message-writer.ts';
import type { MessageWriter } from './message-writer.ts';

function refusedAs(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.reason === reason;
}

describe('MessageWriter', () => {
  let world: ChatWorld;
  let writer: MessageWriter;
  before(async () => {
    world = await ChatWorld.open();
    writer = world.writer();
  });
  after(() => world.close());

  it('answers only when the message is stored and queued (MSG-26, INV-08)', async () => {
    const { one, conversationId } = await world.friends();
    const sent = await writer.send(textMessage(conversationId, one));
    assert.equal(world.jobs.at(-1)?.changeId, sent.msgId);
    const [row] = await world.db.select<{ last_msg_id: string; last_change_id: string }>(
      'SELECT last_msg_id, last_change_id FROM t_conversations WHERE id = ?',
      [conversationId],
    );
    assert.deepEqual([row?.last_msg_id, row?.last_change_id], [sent.msgId.toString(), sent.msgId.toString()]);
  });

  it('stores one message however often and however parallel it is sent (MSG-28, INV-09, S1)', async () => {
    const { one, conversationId } = await world.friends();
    const other = world.writer();
    const message = textMessage(conversationId, one, { clientMsgId: 'k1' });
    const sent = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? writer : other).send(message)));
    const again = await writer.send(message);
    assert.equal(new Set([...sent, again].map(({ msgId }) => msgId)).size, 1);
    assert.equal(sent.filter(({ isDuplicate }) => !isDuplicate).length, 1);
    const rows = await world.db.select('SELECT id FROM t_messages WHERE conversation_id = ?', [conversationId]);
    assert.equal(rows.length, 1);
  });

  it('gives the first id for a retry after 25 hours (S1)', async () => {
    const { one, conversationId } = await world.friends();
    const message = textMessage(conversationId, one);
    const { msgId } = await writer.send(message);
    await world.db.change('UPDATE t_messages SET created_at = created_at - INTERVAL 25 HOUR WHERE id = ?', [msgId]);
    assert.equal((await writer.send(message)).msgId, msgId);
  });

  it('refuses the same key with other content as DUPLICATE', async () => {
    const { one, conversationId } = await world.friends();
    await writer.send(textMessage(conversationId, one, { clientMsgId: 'k', text: 'a' }));
    await assert.rejects(writer.send(textMessage(conversationId, one, { clientMsgId: 'k', text: 'b' })), refusedAs('DUPLICATE'));
  });

  it('answers a repeat before it asks whether sending is still allowed', async () => {
    const { one, other, conversationId } = await world.friends();
    const message = textMessage(conversationId, one);
    const { msgId } = await writer.send(message);
    await world.db.change('DELETE FROM t_friends WHERE user_id IN (?)', [[one, other]]);
    assert.equal((await writer.send(message)).msgId, msgId);
    await assert.rejects(writer.send(textMessage(conversationId, one)), refusedAs('NOT_FRIENDS'));
  });

  it('compares keys as bytes: AbC, abc and a trailing space are three messages', async () => {
    const { one, conversationId } = await world.friends();
    const sent = await Promise.all(
      ['AbC', 'abc', 'abc ', 'abç'].map((clientMsgId) => writer.send(textMessage(conversationId, one, { clientMsgId }))),
    );
    assert.equal(new Set(sent.map(({ msgId }) => msgId)).size, 4);
  });

  it('returns content byte for byte (MSG-43)', async () => {
    const { one, other, conversationId } = await world.friends();
    const content = Buffer.from('{"t":1,  "text":"😀 \\u00e9 1.0", "n":1.0, "n":12345678901234567890123}');
    await writer.send(textMessage(conversationId, one, { content }));
    const { messages } = await getMessagesAfter(world.db, other, conversationId, 0n, 10);
    assert.deepEqual(messages[0]?.content, content);
  });

  it('chains every message to the one before it, in id order, whoever sends (INV-10, U2)', async () => {
    const members = await world.users(20);
    const { conversationId, created } = await world.group(members);
    const second = world.writer();
    const sends = members.flatMap((user) =>
      Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? writer : second).send(textMessage(conversationId, user))),
    );
    await Promise.all(sends);
    const rows = await world.db.select<{ id: string; prev_change_id: string }>(
      'SELECT id, prev_change_id FROM t_messages WHERE conversation_id = ? ORDER BY id',
      [conversationId],
    );
    assert.equal(rows.length, 200);
    assert.deepEqual(
      rows.map((row) => row.prev_change_id),
      [created.changeId.toString(), ...rows.slice(0, -1).map((row) => row.id)],
    );
  });

  it('keeps a wanted id only above the head (MSG-10, X-24)', async () => {
    const { one, conversationId } = await world.friends();
    const early = world.lease.ids.next();
    const { msgId: head } = await writer.send(textMessage(conversationId, one));
    const late = world.lease.ids.next();
    assert.equal((await writer.send(textMessage(conversationId, one, { wantedId: late }))).msgId, late);
    const reissued = await writer.send(textMessage(conversationId, one, { wantedId: early }));
    assert.ok(reissued.msgId > late && head > early);
  });

  it('gives a new id where the wanted one is a message of another conversation already (MSG-10)', async () => {
    const { one, conversationId } = await world.friends();
    const [peer = 0n] = await world.users(1);
    await world.befriend(one, peer);
    const second = await world.db.transaction((tx) => ensureP2p({ ids: world.lease.ids }, tx, one, peer));
    const wantedId = world.lease.ids.next();
    const sends = [conversationId, second].map((id) => writer.send(textMessage(id, one, { wantedId })));
    const [first, other] = await Promise.all(sends);
    assert.equal([first, other].filter((sent) => sent?.msgId === wantedId).length, 1);
    assert.notEqual((await writer.send(textMessage(second, one, { wantedId }))).msgId, wantedId);
  });

  const refusals: readonly (readonly [string, string, (w: ChatWorld) => Promise<{ conversationId: bigint; senderId: bigint }>])[] = [
    [
      'a stranger to the conversation',
      'NOT_A_MEMBER',
      async (w) => ({ conversationId: (await w.friends()).conversationId, senderId: (await w.users(1))[0] ?? 0n }),
    ],
    [
      'a conversation that does not exist',
      'RESOURCE_NOT_FOUND',
      async (w) => ({ conversationId: 123n, senderId: (await w.users(1))[0] ?? 0n }),
    ],
    [
      'a suspended user',
      'ACCOUNT_SUSPENDED',
      async (w) => {
        const { one, conversationId } = await w.friends();
        await w.db.change('UPDATE t_users SET state = 2 WHERE id = ?', [one]);
        return { conversationId, senderId: one };
      },
    ],
    [
      'somebody the peer has blocked',
      'BLOCKED',
      async (w) => {
        const { one, other, conversationId } = await w.friends();
        await w.db.change('INSERT INTO t_blacklist (user_id, blocked_id, created_at) VALUES (?, ?, NOW(3))', [other, one]);
        return { conversationId, senderId: one };
      },
    ],
    [
      'a muted member',
      'MEMBER_MUTED',
      async (w) => {
        const [owner = 0n, member = 0n] = await w.users(2);
        const { conversationId } = await w.group([owner, member]);
        await w.db.change('INSERT INTO im_group_mutes (conversation_id, user_id, actor_user_id, created_at) VALUES (?, ?, 1, NOW(3))', [
          conversationId,
          member,
        ]);
        return { conversationId, senderId: member };
      },
    ],
    [
      'an ordinary member of a group that is muted for all',
      'GROUP_MUTED',
      async (w) => {
        const [owner = 0n, member = 0n] = await w.users(2);
        const { conversationId } = await w.group([owner, member]);
        await w.db.change('UPDATE t_groups SET mute_all = 1 WHERE conversation_id = ?', [conversationId]);
        return { conversationId, senderId: member };
      },
    ],
  ];
  for (const [who, reason, arrange] of refusals) {
    it(`refuses ${who} as ${reason} and writes nothing (MSG-21, MSG-30, MSG-31)`, async () => {
      const { conversationId, senderId } = await arrange(world);
      const before = world.jobs.length;
      await assert.rejects(writer.send(textMessage(conversationId, senderId)), refusedAs(reason));
      const rows = await world.db.select('SELECT id FROM t_messages WHERE conversation_id = ?', [conversationId]);
      assert.deepEqual([rows.length, world.jobs.length], [0, before]);
    });
  }

  it('lets a mute that ran out speak again', async () => {
    const [owner = 0n, member = 0n] = await world.users(2);
    const { conversationId } = await world.group([owner, member]);
    const insert =
      'INSERT INTO im_group_mutes (conversation_id, user_id, expires_at, actor_user_id, created_at) VALUES (?, ?, NOW(3) - INTERVAL 1 SECOND, 1, NOW(3))';
    await world.db.change(insert, [conversationId, member]);
    await writer.send(textMessage(conversationId, member));
  });

  it('does not let a bad message fail its neighbours', async () => {
    const { one, conversationId } = await world.friends();
    const good = Array.from({ length: 9 }, () => textMessage(conversationId, one));
    const tooLong = textMessage(conversationId, one, { clientMsgId: 'x'.repeat(65) });
    const sent = await Promise.allSettled([...good.slice(0, 4), tooLong, ...good.slice(4)].map((message) => writer.send(message)));
    assert.deepEqual(
      sent.map(({ status }) => status),
      [...Array<string>(4).fill('fulfilled'), 'rejected', ...Array<string>(5).fill('fulfilled')],
    );
  });

  it('does not answer when the queue refused, and answers the retry with the id of the stored message (MSG-25, ACC-25)', async () => {
    const { one, conversationId } = await world.friends();
    const message = textMessage(conversationId, one);
    const working = world.enqueue;
    world.enqueue = () => Promise.reject(new Error('OOM'));
    await assert.rejects(writer.send(message), refusedAs('BUSY'));
    world.enqueue = working;
    const [row] = await world.db.select<{ id: string }>('SELECT id FROM t_messages WHERE conversation_id = ?', [conversationId]);
    const sent = await writer.send(message);
    assert.equal(sent.msgId.toString(), row?.id);
    assert.equal(world.jobs.at(-1)?.changeId, sent.msgId);
  });

  it('puts off a locked conversation without holding up the others, then stores it', async () => {
    const busy = await world.friends();
    const free = await world.friends();
    const lane = world.writer({ lanes: 1 });
    const held = Promise.withResolvers<undefined>();
    const locked = Promise.withResolvers<undefined>();
    const holder = world.db.transaction(async (tx) => {
      await tx.select('SELECT * FROM t_conversations FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE', [busy.conversationId]);
      locked.resolve(undefined);
      await held.promise;
    });
    await locked.promise;
    const first = lane.send(textMessage(busy.conversationId, busy.one));
    const second = lane.send(textMessage(busy.conversationId, busy.one));
    await lane.send(textMessage(free.conversationId, free.one));
    held.resolve(undefined);
    await holder;
    const [one, two] = await Promise.all([first, second]);
    assert.ok(one.msgId < two.msgId);
  });

  it('waits for a conversation that stays locked once for all its messages, not for each, so that its lane goes on', async () => {
    const busy = await world.friends();
    const free = await world.friends();
    const lane = world.writer({ lanes: 1, patienceMs: 50 });
    const held = Promise.withResolvers<undefined>();
    const locked = Promise.withResolvers<undefined>();
    const holder = world.db.transaction(async (tx) => {
      await tx.select('SELECT * FROM t_conversations FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE', [busy.conversationId]);
      locked.resolve(undefined);
      await held.promise;
    });
    await locked.promise;
    const sends = Promise.allSettled(Array.from({ length: 10 }, () => lane.send(textMessage(busy.conversationId, busy.one))));
    await lane.send(textMessage(free.conversationId, free.one));
    for (const { status, ...outcome } of await within(sends, { what: 'all to be refused', deadlineMs: 5_000 })) {
      assert.equal(status, 'rejected');
      assert.ok('reason' in outcome && refusedAs('BUSY')(outcome.reason));
    }
    held.resolve(undefined);
    await holder;
  });

  it('spreads conversations over its lanes, also those that were made one at a time', () => {
    const firstOfTheirMillisecond = Array.from({ length: 100 }, (_, ms) => BigInt(1_000 + ms) << 22n);
    const lanes = firstOfTheirMillisecond.map((id) => laneOf(id, 2));
    assert.ok(lanes.filter((lane) => lane === 0).length > 20 && lanes.filter((lane) => lane === 1).length > 20);
  });

  it('refuses as BUSY while the worker id is not ours, and stores nothing (MSG-05)', async () => {
    const { one, conversationId } = await world.friends();
    const foreign = world.writer();
    await foreign.send(textMessage(conversationId, one));
    const proof = world.lease.proof;
    Object.defineProperty(world.lease, 'proof', {
      configurable: true,
      get: () => ({ ...proof, params: [proof.params[0], Buffer.alloc(16)] }),
    });
    try {
      await assert.rejects(foreign.send(textMessage(conversationId, one)), refusedAs('BUSY'));
    } finally {
      Reflect.deleteProperty(world.lease, 'proof');
    }
    const rows = await world.db.select('SELECT id FROM t_messages WHERE conversation_id = ?', [conversationId]);
    assert.equal(rows.length, 1);
  });
});
