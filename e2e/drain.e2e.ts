import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { eventually } from '#shared/testing/wait.ts';
import { RefusedError, textOf } from '#client/answer.ts';
import { syncMessages } from '#client/sync.ts';
import { sendBody, twoFriends, underTest } from './people.ts';

const MESSAGES = 600;

describe('an im-core that is asked to end (SIGTERM)', () => {
  it('answers a send in flight or lets it be sent again, and loses and doubles nothing (OPS-02)', async function drain() {
    if (!underTest().isOwn) this.skip();
    this.timeout(120_000);
    const { alice, bob, conversationId, leave } = await twoFriends();
    const sending = await alice.device();
    const acked = new Map<string, string>();
    const unknown: string[] = [];
    const outcomes = Array.from({ length: MESSAGES }, async (_, number) => {
      const clientMsgId = `drain-${number}`;
      try {
        const { data } = await sending.request(COMMANDS.SEND_MESSAGE, sendBody({ conversationId, text: clientMsgId, clientMsgId }));
        acked.set(clientMsgId, textOf(data, 'msg_id'));
      } catch (error) {
        // The connection ended before the answer, or the server said that it may be tried again: both are no loss.
        assert.ok(!(error instanceof RefusedError) || error.isRetriable, String(error));
        unknown.push(clientMsgId);
      }
    });
    await eventually(() => acked.size >= 10, { what: 'the first answers' });
    await underTest().kill('im-core', 'SIGTERM');
    await Promise.all(outcomes);
    const [again, reader] = [await alice.device('2'), await bob.device()];
    for (const clientMsgId of unknown) {
      const { data } = await again.request(COMMANDS.SEND_MESSAGE, sendBody({ conversationId, text: clientMsgId, clientMsgId }));
      acked.set(clientMsgId, textOf(data, 'msg_id'));
    }
    const { messages } = await syncMessages(reader, conversationId);
    assert.deepEqual(new Map(messages.map(({ clientMsgId, msgId }) => [clientMsgId, msgId])), acked);
    assert.equal(messages.length, MESSAGES);
    const ended = (await underTest().logOf('im-core'))
      .map((line) => line['message'])
      .filter((word) => word === 'draining' || word === 'stopped');
    assert.deepEqual(ended.slice(-2), ['draining', 'stopped']);
    leave();
  });
});
