import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { MAX_REQUEST_ID } from '#shared/contract/frame.ts';
import { openAnswer, RefusedError } from '#client/answer.ts';
import type { ImConnection } from '#client/im-connection.ts';
import { syncMessages } from '#client/sync.ts';
import { send, textIn, twoFriends } from './people.ts';
import type { Pair } from './people.ts';

describe('64-bit ids and keys (F2)', () => {
  let pair: Pair;
  let device: ImConnection;

  before(async () => {
    pair = await twoFriends();
    device = await pair.alice.device();
  });

  after(() => {
    pair.leave();
  });

  it('leave as decimal strings that keep all their digits', async () => {
    const msgId = await send(device, { conversationId: pair.conversationId, text: 'count my digits' });
    assert.match(msgId, /^[1-9]\d{17,18}$/);
    assert.ok(BigInt(msgId) > 2n ** 53n);
    const { messages } = await syncMessages(device, pair.conversationId);
    assert.equal(messages.at(-1)?.msgId, msgId);
    const { data } = await device.request(COMMANDS.READ_MESSAGE, { conversation_id: pair.conversationId, msg_id: msgId });
    assert.equal(data['msg_id'], msgId);
  });

  it('are refused as numbers that JavaScript has rounded, never rounded themselves', async () => {
    for (const number of [
      '9007199254740993',
      '9007199254740992',
      '7405472097755331634',
      '1e3',
      '1.5',
      '-1',
      'true',
      'null',
      '"01"',
      '"1 "',
    ]) {
      const body = `{"conversation_id":"${pair.conversationId}","msg_id":${number}}`;
      const frame = await device.exchange(COMMANDS.READ_MESSAGE, Buffer.from(body));
      if (number === '1e3') continue; // a safe integer, however it is written; there is no such message
      assert.throws(
        () => openAnswer(frame.body.toString()),
        (error) => error instanceof RefusedError && error.code === 40_001,
        number,
      );
    }
  });

  it('in the frame header come back bit for bit', async () => {
    for (const requestId of [1n, 2n ** 53n + 1n, 2n ** 63n, MAX_REQUEST_ID]) {
      const frame = await device.exchange(COMMANDS.HEARTBEAT, Buffer.from('{}'), { requestId });
      assert.equal(frame.requestId, requestId);
    }
  });

  it('of the client are compared as bytes: AbC and abc, a and a-with-space are different messages', async () => {
    const { bob, conversationId } = pair;
    const keys = ['AbC', 'abc', 'ABC', 'abc ', 'äbc', 'a\u0308bc'];
    const ids: string[] = [];
    for (const clientMsgId of keys) ids.push(await send(device, { conversationId, text: `key ${clientMsgId}`, clientMsgId }));
    assert.equal(new Set(ids).size, keys.length);
    const { messages } = await syncMessages(await bob.device(), conversationId);
    assert.deepEqual(
      messages.filter(({ msgId }) => ids.includes(msgId)).map(({ clientMsgId }) => clientMsgId),
      keys,
    );
  });

  it('and texts of any script come back as they were sent', async () => {
    const { bob, conversationId } = pair;
    const text = '😀👨‍👩‍👧‍👦 𝄞 中文 עברית \u0000 \u2028 end';
    const msgId = await send(device, { conversationId, text });
    const { messages } = await syncMessages(await bob.device('2'), conversationId);
    assert.equal(textIn(messages.find((message) => message.msgId === msgId)?.content), text);
  });
});
