import assert from 'node:assert/strict';
import { ImClient } from '#client/im-client.ts';
import { syncMessages } from '#client/sync.ts';
import { eventually } from '#shared/testing/wait.ts';
import { twoFriends, underTest } from './people.ts';
import type { Pair, Person } from './people.ts';

const MESSAGES = 200;

describe('im-core killed while people talk', () => {
  let pair: Pair;

  before(function onlyOurs() {
    if (!underTest().isOwn) this.skip();
  });

  beforeEach(async () => {
    pair = await twoFriends();
  });

  afterEach(() => {
    pair.leave();
  });

  it('loses nothing that was acknowledged, doubles nothing, and keeps the order', async function kill() {
    this.timeout(180_000);
    const { alice, bob, conversationId } = pair;
    const [sender, receiver] = [clientOf(alice), clientOf(bob)];
    await Promise.all([sender.connect(), receiver.connect()]);
    const acked: string[] = [];
    const sending = (async () => {
      for (let number = 0; number < MESSAGES; number += 1) {
        const { msgId } = await sender.send({ conversationId, content: { t: 1, text: String(number) }, clientMsgId: `kill-${number}` });
        acked.push(msgId);
      }
    })();
    await eventually(() => acked.length >= 20, { what: 'the first messages' });
    await underTest().kill('im-core');
    await sending;
    const { messages } = await syncMessages(receiver, conversationId);
    assert.deepEqual(
      messages.map(({ msgId }) => msgId),
      acked,
    );
    assert.deepEqual(
      messages.map(({ clientMsgId }) => clientMsgId),
      Array.from({ length: MESSAGES }, (_, number) => `kill-${number}`),
    );
    await Promise.all([sender.close(), receiver.close()]);
  });
});

function clientOf(person: Person): ImClient {
  return new ImClient({
    target: underTest().appliance.im,
    deviceId: '1',
    platform: 'e2e',
    token: () => Promise.resolve(person.token),
  });
}
