import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { memberBytes } from '#shared/contract/json-member.ts';
import { eventually } from '#shared/testing/wait.ts';
import { openAnswer, RefusedError } from '#client/answer.ts';
import { syncInbox, syncMessages } from '#client/sync.ts';
import { messageOn, Person, send, textIn, twoFriends, underTest } from './people.ts';
import type { Pair } from './people.ts';

describe('an acknowledged message', () => {
  let pair: Pair;

  before(async () => {
    pair = await twoFriends();
  });

  after(() => {
    pair.leave();
  });

  it('reaches every device but the one that sent it (SES-05, SES-06)', async () => {
    const { alice, bob, conversationId } = pair;
    const [sending, other] = [await alice.device('11'), await alice.device('12')];
    const [first, second] = [await bob.device('21'), await bob.device('22')];
    const msgId = await send(sending, { conversationId, text: 'to everybody' });
    for (const device of [other, first, second]) {
      const push = await messageOn(device, msgId);
      assert.equal(textIn(push.data['content']), 'to everybody');
      assert.equal(push.data['sender_id'], alice.userId);
    }
    // A second message that comes back to nobody but the others: had the first come to its sender, it would be here by now.
    const next = await send(other, { conversationId, text: 'and another' });
    await messageOn(sending, next);
    assert.equal(
      sending.pushes.drain().some(({ data }) => data['msg_id'] === msgId),
      false,
    );
  });

  it('is readable by sync and history, and counts as unread once', async () => {
    const { alice, bob, conversationId } = await twoFriends();
    const msgId = await send(await alice.device(), { conversationId, text: 'while you were out' });
    const device = await bob.device();
    const { messages } = await syncMessages(device, conversationId);
    assert.deepEqual(
      messages.map((message) => message.msgId),
      [msgId],
    );
    const history = await underTest().appliance.api.history(bob.token, conversationId);
    assert.deepEqual(
      history.map((message) => message['msg_id']),
      [msgId],
    );
    await eventually(
      async () => {
        const { dialogs } = await syncInbox(device);
        const dialog = dialogs.find((candidate) => candidate['conversation_id'] === conversationId);
        return dialog?.['last_msg_id'] === msgId && Number(dialog['unread']) === 1;
      },
      { what: 'one unread message in the list' },
    );
    alice.leave();
    bob.leave();
  });

  it('comes back byte for byte: spaces, 1.0, long numbers and emoji', async () => {
    const { alice, bob, conversationId } = pair;
    const [sender, receiver] = [await alice.device('13'), await bob.device('23')];
    const content = '{"t":1, "text":"👩‍👩‍👧 \\u00e9 é", "n":1.0, "id":9007199254740993,  "deep":{"a":[1,2,{"b":null}]}}';
    const body = `{"conversation_id":"${conversationId}","client_msg_id":"bytes-1","message_type":1,"content":${content}}`;
    const ack = openAnswer((await sender.exchange(COMMANDS.SEND_MESSAGE, Buffer.from(body))).body.toString());
    const push = await messageOn(receiver, String(ack.data['msg_id']));
    const data = memberBytes(push.frame.body, 'data');
    assert.equal(data === undefined ? undefined : memberBytes(data, 'content')?.toString(), content);
  });

  it('is synced as well when a page of messages is larger than a frame', async () => {
    const { alice, bob, conversationId, leave } = await twoFriends();
    const sender = await alice.device();
    const ids: string[] = [];
    for (let number = 0; number < 7; number += 1) ids.push(await send(sender, { conversationId, text: `${number}${'x'.repeat(60_000)}` }));
    const { messages } = await syncMessages(await bob.device(), conversationId);
    assert.deepEqual(
      messages.map(({ msgId }) => msgId),
      ids,
    );
    leave();
  });

  it('is refused with a reason to a stranger, and in a conversation that is not his', async () => {
    const { alice, conversationId } = pair;
    const stranger = await Person.register();
    const device = await stranger.device();
    await assert.rejects(
      send(device, { conversationId, text: 'let me in' }),
      (error) => error instanceof RefusedError && [40_301, 40_401].includes(error.code),
    );
    const p2p = await underTest().appliance.api.openP2p(stranger.token, alice.userId);
    await assert.rejects(
      send(device, { conversationId: p2p, text: 'hello stranger' }),
      (error) => error instanceof RefusedError && error.reason === 'NOT_FRIENDS',
    );
    stranger.leave();
  });
});
