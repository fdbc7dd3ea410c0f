import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { COMMANDS } from '#shared/contract/commands.ts';
import { eventually } from '#shared/testing/wait.ts';
import { RefusedError } from '#client/answer.ts';
import { syncInbox, syncMessages } from '#client/sync.ts';
import { send, sendBody, twoFriends, underTest } from './people.ts';
import type { Pair } from './people.ts';

describe('a lost SEND_ACK (S1)', () => {
  let pair: Pair;

  beforeEach(async () => {
    pair = await twoFriends();
  });

  afterEach(() => {
    pair.leave();
  });

  it('is asked for again at once, and at two doors together: one message, one id', async () => {
    const { alice, conversationId } = pair;
    for (let turns = 0; turns < 8; turns += 1) {
      const outgoing = { conversationId, text: `cut after ${turns} turns`, clientMsgId: `lost-${turns}` };
      const doomed = await alice.device('11');
      doomed.send({ command: COMMANDS.SEND_MESSAGE, requestId: 5n, sequenceId: 5, body: Buffer.from(JSON.stringify(sendBody(outgoing))) });
      for (let turn = 0; turn < turns * 3; turn += 1) await nextTurn();
      doomed.cut();
      const [left, right] = [await alice.device('12'), await alice.device('13')];
      const ids = await Promise.all([send(left, outgoing), send(right, outgoing), send(left, outgoing)]);
      assert.equal(new Set(ids).size, 1);
    }
    await assertReceived(pair, 8);
  });

  it('has the same answer after im-core was killed and came back', async function afterKill() {
    if (!underTest().isOwn) this.skip();
    const { alice, conversationId } = pair;
    const outgoing = { conversationId, text: 'before the kill', clientMsgId: 'kill-1' };
    const msgId = await send(await alice.device('11'), outgoing);
    await underTest().kill('im-core');
    assert.equal(await send(await alice.device('11'), outgoing), msgId);
    await assertReceived(pair, 1);
  });

  it('with another content under the same key is refused as DUPLICATE', async () => {
    const { alice, conversationId } = pair;
    const device = await alice.device();
    await send(device, { conversationId, text: 'one', clientMsgId: 'same' });
    await assert.rejects(
      send(device, { conversationId, text: 'two', clientMsgId: 'same' }),
      (error) => error instanceof RefusedError && error.code === 40_901,
    );
    await assertReceived(pair, 1);
  });
});

async function assertReceived({ bob, conversationId }: Pair, count: number): Promise<void> {
  const device = await bob.device();
  const { messages } = await syncMessages(device, conversationId);
  assert.equal(messages.length, count);
  await eventually(
    async () => {
      const { dialogs } = await syncInbox(device);
      return Number(dialogs.find((dialog) => dialog['conversation_id'] === conversationId)?.['unread']) === count;
    },
    { what: `${count} unread` },
  );
}
