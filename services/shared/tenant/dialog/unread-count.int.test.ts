import assert from 'node:assert/strict';
import type { Queryable } from '#shared/platform/mysql/database.ts';
import { ChatWorld, textMessage } from '#shared/testing/chat-world.ts';
import { unreadAt, usersAt } from './unread-count.ts';

describe('the unread count', () => {
  const MESSAGES = 2_000;
  let world: ChatWorld;
  before(async () => {
    world = await ChatWorld.open();
  });
  after(() => world.close());

  /** A conversation full of messages of `one`, as if they had been sent. */
  async function fill(conversationId: bigint, one: bigint): Promise<bigint[]> {
    const ids = Array.from({ length: MESSAGES }, () => world.lease.ids.next());
    const rows = ids.map((id) => [id, conversationId, one, Buffer.from(id.toString()), 1, Buffer.from('{}'), Buffer.alloc(32), new Date()]);
    const columns = 'id, conversation_id, sender_id, client_msg_id, message_type, content, content_hash, created_at';
    await world.db.change(`INSERT INTO t_messages (${columns}) VALUES ?`, [rows]);
    return ids;
  }

  async function rowsRead(db: Queryable): Promise<number> {
    const rows = await db.select<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read_next'");
    return Number(rows[0]?.Value);
  }

  it('reads what lies above the mark, not the whole conversation', async () => {
    const { one, other, conversationId } = await world.friends();
    const ids = await fill(conversationId, one);
    const [mark = 0n, head = 0n] = [ids.at(-4), ids.at(-1)];
    await world.db.transaction(async (tx) => {
      const before = await rowsRead(tx);
      assert.equal(await unreadAt(tx, conversationId, other, mark, head), 3);
      assert.equal(await unreadAt(tx, conversationId, one, mark, head), 0);
      assert.ok((await rowsRead(tx)) - before < 50);
    });
  });

  it('knows who has left at a point of the chain, and who had not yet (MSG-31)', async () => {
    const [owner = 0n, member = 0n] = await world.users(2);
    const { conversationId, created } = await world.group([owner, member]);
    const sent = await world.writer().send(textMessage(conversationId, owner));
    const left = await world.leave(conversationId, member);
    const at = async (position: bigint) => {
      const users = await world.db.transaction((tx) => usersAt(tx, conversationId, position), { snapshot: true });
      return users.map(({ userId, unread, isGone }) => ({ userId, unread, isGone }));
    };
    assert.deepEqual(
      await at(created.changeId),
      [member, owner].sort(ascending).map((userId) => ({ userId, unread: 0, isGone: false })),
    );
    assert.deepEqual(await at(sent.msgId).then((users) => users.find(({ userId }) => userId === member)), {
      userId: member,
      unread: 1,
      isGone: false,
    });
    assert.deepEqual(await at(left.changeId).then((users) => users.find(({ userId }) => userId === member)), {
      userId: member,
      unread: 0,
      isGone: true,
    });
  });
});

function ascending(one: bigint, other: bigint): number {
  return one < other ? -1 : 1;
}
