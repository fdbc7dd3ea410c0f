import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { HandClock, systemClock } from '#shared/platform/clock/clock.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import { Epoch } from '#shared/tenant/deliver/epoch.ts';
import { Keys } from '#shared/tenant/dialog/keys.ts';
import { contentHash } from '#shared/tenant/message/new-message.ts';
import { getHistory } from '#shared/tenant/message/get-messages.ts';
import type { MessageWriter } from '#shared/tenant/message/message-writer.ts';
import { ChatWorld, textMessage } from '#shared/testing/chat-world.ts';
import { freshRedis } from '#shared/testing/redis.ts';
import type { FreshRedis } from '#shared/testing/redis.ts';
import type { Session } from '../gateway/sessions.ts';
import type { CommandHandler } from './command.ts';
import { generateMsgId } from './generate-msg-id.ts';
import { IssuedIds } from './issued-ids.ts';
import { readMessage } from './read-message.ts';
import { sendMessage } from './send-message.ts';
import { syncInbox, syncInboxFinish } from './sync-inbox.ts';
import { syncMessages } from './sync-messages.ts';

const MAX_CONTENT = 1_024;

function refusedAs(reason: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.reason === reason;
}

describe('the commands of the chat', () => {
  let world: ChatWorld;
  let server: FreshRedis;
  let writer: MessageWriter;
  let lists: DialogLists;
  let handlers: ReadonlyMap<number, CommandHandler>;
  const clock = new HandClock(systemClock.nowMs());

  /** What the router does: the bytes, and what JSON.parse makes of them. The answer as a client reads it. */
  async function ask(command: number, userId: bigint, json: string, deviceId = 1n): Promise<Record<string, unknown>> {
    const handler = handlers.get(command);
    assert.ok(handler);
    const raw = Buffer.from(json);
    const session = {} as Session; // none of these commands looks at it
    const context = { tenant: 'default', userId, deviceId, connectionId: 'c', realIp: '203.0.113.9', traceId: 'req_test', session };
    const data = await handler.handle(context, JSON.parse(json) as Record<string, unknown>, raw);
    return JSON.parse(Buffer.isBuffer(data) ? data.toString() : JSON.stringify(data)) as Record<string, unknown>;
  }
  const send = (userId: bigint, body: object) => ask(COMMANDS.SEND_MESSAGE, userId, JSON.stringify(body));
  const hello = (conversationId: bigint, extra: object = {}) => ({
    conversation_id: conversationId.toString(),
    client_msg_id: `k${Math.random().toString()}`,
    message_type: 1,
    content: { t: 1, text: 'hello' },
    ...extra,
  });

  before(async () => {
    world = await ChatWorld.open();
    server = await freshRedis();
    const redis = await server.connect();
    const base = `${server.code}:`;
    lists = new DialogLists({ redis, epoch: new Epoch(redis, base), keys: new Keys('default', base), base });
    writer = world.writer();
    const tenants = new Map([['default', { db: world.db, writer, lists, wakeNotices: () => undefined }]]);
    const issued = new IssuedIds(clock, 300_000);
    const all = [
      generateMsgId({ ids: world.lease.ids, issued }),
      sendMessage({ tenants, issued, maxContentBytes: MAX_CONTENT }),
      readMessage({ tenants, log: silentLog }),
      syncInbox({ tenants, limit: 200, maxBodyBytes: 131_072 }),
      syncInboxFinish({ tenants }),
      syncMessages({ tenants, limit: 200, maxBodyBytes: 1_048_576 }),
    ];
    handlers = new Map(all.map((handler) => [handler.command, handler]));
  });
  after(async () => {
    await world.close();
    await server.close();
  });

  describe('SEND_MESSAGE', () => {
    const wrong: readonly (readonly [string, object, string])[] = [
      ['a type that is no number', { message_type: '1' }, 'INVALID_ARGUMENT'],
      ['type 9, which only the server writes', { message_type: 9, content: { t: 9 } }, 'INVALID_ARGUMENT'],
      ['type 0', { message_type: 0, content: { t: 0 } }, 'INVALID_ARGUMENT'],
      ['a content.t that differs from the type', { content: { t: 2, text: 'x' } }, 'INVALID_ARGUMENT'],
      ['content that is text', { content: 'hello' }, 'INVALID_ARGUMENT'],
      ['content that is a list', { content: [1] }, 'INVALID_ARGUMENT'],
      ['no content', { content: undefined }, 'INVALID_ARGUMENT'],
      ['an empty client_msg_id', { client_msg_id: '' }, 'INVALID_ARGUMENT'],
      ['a client_msg_id of 65 bytes', { client_msg_id: 'é'.repeat(32) + 'x' }, 'INVALID_ARGUMENT'],
      ['a client_msg_id that is no text', { client_msg_id: 7 }, 'INVALID_ARGUMENT'],
      ['a conversation id above 2^53 as a number', { conversation_id: 9007199254740993 }, 'INVALID_ARGUMENT'],
      ['content over the limit', { content: { t: 1, text: 'x'.repeat(MAX_CONTENT) } }, 'TOO_LARGE'],
    ];
    for (const [what, change, reason] of wrong) {
      it(`refuses ${what} as ${reason} (MSG-32, MSG-44)`, async () => {
        const { one, conversationId } = await world.friends();
        await assert.rejects(send(one, hello(conversationId, change)), refusedAs(reason));
        assert.equal((await getHistory(world.db, one, conversationId, 0n, 10)).messages.length, 0);
      });
    }

    it('takes content of exactly the limit, and a client_msg_id of exactly 64 bytes', async () => {
      const { one, conversationId } = await world.friends();
      const frame = JSON.stringify({ t: 1, text: '' }).length;
      const content = { t: 1, text: 'x'.repeat(MAX_CONTENT - frame) };
      const answer = await send(one, hello(conversationId, { content, client_msg_id: 'é'.repeat(32) }));
      assert.equal(answer.client_msg_id, 'é'.repeat(32));
    });

    it('uses an id from GENERATE_MSG_ID for the device it was given to, while it is young (MSG-07, MSG-08, MSG-10)', async () => {
      const { one, other, conversationId } = await world.friends();
      const { msg_id: own } = await ask(COMMANDS.GENERATE_MSG_ID, one, '{}');
      assert.equal((await send(one, hello(conversationId, { msg_id: own }))).msg_id, own);
      const { msg_id: foreign } = await ask(COMMANDS.GENERATE_MSG_ID, other, '{}');
      assert.notEqual((await send(one, hello(conversationId, { msg_id: foreign }))).msg_id, foreign);
      const { msg_id: old } = await ask(COMMANDS.GENERATE_MSG_ID, one, '{}');
      clock.step(300_001);
      assert.notEqual((await send(one, hello(conversationId, { msg_id: old }))).msg_id, old);
    });

    it('refuses a sender who blocked the other (FRD-02)', async () => {
      const { one, other, conversationId } = await world.friends();
      await world.db.change('INSERT INTO t_blacklist (user_id, blocked_id, created_at) VALUES (?, ?, NOW(3))', [one, other]);
      await assert.rejects(send(one, hello(conversationId)), refusedAs('BLOCKED'));
    });
  });

  describe('READ_MESSAGE', () => {
    const read = (userId: bigint, body: object) => ask(COMMANDS.READ_MESSAGE, userId, JSON.stringify(body));

    it('answers the mark, and never takes it back (MSG-61, MSG-62)', async () => {
      const { one, other, conversationId } = await world.friends();
      const first = await writer.send(textMessage(conversationId, one));
      const second = await writer.send(textMessage(conversationId, one));
      const at = (msgId: bigint) => ({ conversation_id: conversationId.toString(), msg_id: msgId.toString() });
      assert.equal((await read(other, at(second.msgId))).msg_id, second.msgId.toString());
      assert.equal((await read(other, at(first.msgId))).msg_id, second.msgId.toString());
      const rows = await world.db.select('SELECT id FROM t_mailbox_events WHERE conversation_id = ?', [conversationId]);
      const notices = await world.db.select("SELECT id FROM im_business_events_outbox WHERE kind = 'READ' AND conversation_id = ?", [
        conversationId,
      ]);
      assert.deepEqual([rows.length, notices.length], [0, 1]);
    });

    it('refuses what is missing, absent, of another conversation, or asked by a stranger (MSG-63 .. MSG-66)', async () => {
      const { one, other, conversationId } = await world.friends();
      const elsewhere = await world.friends();
      const { msgId } = await writer.send(textMessage(conversationId, one));
      const foreign = await writer.send(textMessage(elsewhere.conversationId, elsewhere.one));
      const cid = conversationId.toString();
      await assert.rejects(read(other, { conversation_id: cid }), refusedAs('INVALID_ARGUMENT'));
      await assert.rejects(read(other, { msg_id: msgId.toString() }), refusedAs('INVALID_ARGUMENT'));
      await assert.rejects(read(other, { conversation_id: cid, msg_id: '0' }), refusedAs('INVALID_ARGUMENT'));
      await assert.rejects(read(other, { conversation_id: cid, msg_id: -1 }), refusedAs('INVALID_ARGUMENT'));
      await assert.rejects(read(other, { conversation_id: cid, msg_id: '42' }), refusedAs('RESOURCE_NOT_FOUND'));
      await assert.rejects(read(other, { conversation_id: cid, msg_id: foreign.msgId.toString() }), refusedAs('INVALID_ARGUMENT'));
      await assert.rejects(read(elsewhere.one, { conversation_id: cid, msg_id: msgId.toString() }), refusedAs('NOT_A_MEMBER'));
    });
  });

  describe('SYNC', () => {
    it('gives at most 200 messages, ascending, each once (SYN-04, SYN-05, MSG-46)', async () => {
      const { one, other, conversationId } = await world.friends();
      const sent = await Promise.all(Array.from({ length: 450 }, () => writer.send(textMessage(conversationId, one))));
      const ids = sent
        .map(({ msgId }) => msgId)
        .sort((a, b) => (a < b ? -1 : 1))
        .map(String);
      const seen: string[] = [];
      const sizes: number[] = [];
      for (let after = '0', more = true; more;) {
        const body = { conversation_id: conversationId.toString(), last_msg_id: after, limit: 5_000 };
        const page = await ask(COMMANDS.SYNC_MESSAGES, other, JSON.stringify(body));
        const messages = page.messages as { msg_id: string }[];
        sizes.push(messages.length);
        seen.push(...messages.map((message) => message.msg_id));
        [after, more] = [page.last_msg_id as string, page.has_more as boolean];
      }
      assert.deepEqual([sizes, seen], [[200, 200, 50], ids]);
    });

    it('shows the conversation with preview and unread, and remembers the cursors per device (SYN-02, SYN-07, INB-04)', async () => {
      const { one, other, conversationId } = await world.friends();
      const { msgId } = await writer.send(textMessage(conversationId, one, { text: '👨‍👩‍👧'.repeat(70) }));
      const [job] = world.jobs.slice(-1);
      assert.ok(job);
      const preview = JSON.stringify({ msg_id: msgId.toString(), text: 'short' });
      await lists.changedSince(other, 0n, 1); // the epoch is known
      const redis = server.redis;
      const keys = new Keys('default', `${server.code}:`);
      await redis
        .multi()
        .zadd(keys.unread(other), 4_096, conversationId.toString())
        .hset(keys.unreadCount(other), conversationId.toString(), 1)
        .set(keys.preview(conversationId), preview)
        .exec();
      const page = await ask(COMMANDS.SYNC_INBOX, other, '{"dialog_score":"0","mailbox_seq":"0"}');
      assert.deepEqual(page.dialogs, [
        {
          conversation_id: conversationId.toString(),
          type: 1,
          score: '4096',
          last_msg_id: msgId.toString(),
          unread: 1,
          muted: false,
          pinned: false,
          left: false,
          preview: { msg_id: msgId.toString(), text: 'short' },
        },
      ]);
      await ask(COMMANDS.SYNC_INBOX_FINISH, other, JSON.stringify({ dialog_score: page.dialog_score, mailbox_seq: page.mailbox_seq }));
      assert.deepEqual((await ask(COMMANDS.SYNC_INBOX, other, '{}')).dialogs, []);
      assert.equal(((await ask(COMMANDS.SYNC_INBOX, other, '{}', 2n)).dialogs as unknown[]).length, 1);
    });

    it('keeps neighbouring ids beyond 2^53 apart in sync, history and READ (F2, G-01)', async () => {
      const { one, other, conversationId } = await world.friends();
      const ids = [9007199254740992n, 9007199254740993n, 7405472097755331634n];
      const content = Buffer.from('{"t":1}');
      const rows = ids.map((id, n) => [
        id,
        conversationId,
        one,
        Buffer.from(`f2-${String(n)}`),
        1,
        content,
        contentHash(1, content),
        ids[n - 1] ?? 0n,
        ids[n - 1] ?? 0n,
        new Date(),
      ]);
      const insert = `INSERT INTO t_messages (id, conversation_id, sender_id, client_msg_id, message_type, content, content_hash, prev_msg_id, prev_change_id, created_at) VALUES ?`;
      await world.db.change(insert, [rows]);
      const last = ids.at(-1) ?? 0n;
      await world.db.change('UPDATE t_conversations SET last_msg_id = ?, last_change_id = ? WHERE id = ?', [last, last, conversationId]);
      const cid = conversationId.toString();
      const sync = async (after: string) => {
        const page = await ask(COMMANDS.SYNC_MESSAGES, other, JSON.stringify({ conversation_id: cid, last_msg_id: after }));
        return (page.messages as { msg_id: string }[]).map((message) => message.msg_id);
      };
      assert.deepEqual(await sync('0'), ids.map(String));
      assert.deepEqual(await sync('9007199254740992'), ids.slice(1).map(String));
      const history = await getHistory(world.db, other, conversationId, 9007199254740993n, 10);
      assert.deepEqual(
        history.messages.map(({ id }) => id),
        [9007199254740992n],
      );
      const read = await ask(COMMANDS.READ_MESSAGE, other, JSON.stringify({ conversation_id: cid, msg_id: '9007199254740993' }));
      assert.equal(read.msg_id, '9007199254740993');
      const asNumber = `{"conversation_id":"${cid}","msg_id":9007199254740993}`;
      await assert.rejects(ask(COMMANDS.READ_MESSAGE, other, asNumber), refusedAs('INVALID_ARGUMENT'));
    });
  });
});
