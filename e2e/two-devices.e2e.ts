import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { syncInbox } from '#client/sync.ts';
import { messageOn, send, twoFriends } from './people.ts';

describe('two devices of one person', () => {
  it('see the same read mark, and the unread count is gone on both', async () => {
    const { alice, bob, conversationId, leave } = await twoFriends();
    const [first, second] = [await bob.device('21'), await bob.device('22')];
    const msgId = await send(await alice.device(), { conversationId, text: 'read me' });
    await messageOn(first, msgId);
    await first.request(COMMANDS.READ_MESSAGE, { conversation_id: conversationId, msg_id: msgId });
    const mark = await second.pushes.next('the read mark', ({ command }) => command === COMMANDS.READ_MESSAGE);
    assert.equal(mark.data['conversation_id'], conversationId);
    assert.equal(mark.data['msg_id'], msgId);
    await eventually(
      async () => {
        const { dialogs } = await syncInbox(second);
        return Number(dialogs.find((dialog) => dialog['conversation_id'] === conversationId)?.['unread']) === 0;
      },
      { what: 'an unread count of 0' },
    );
    leave();
  });

  it('are one device when they have one device id: the older connection is told and closed (SES-03)', async () => {
    const { alice, bob, conversationId, leave } = await twoFriends();
    const older = await bob.device('31');
    const newer = await bob.device('31');
    const kick = await older.pushes.next('KICK', ({ command }) => command === COMMANDS.KICK);
    assert.equal(kick.data['reason'], 'REPLACED');
    await within(older.closed, { what: 'the end of the older connection' });
    const msgId = await send(await alice.device(), { conversationId, text: 'to the newer one' });
    await messageOn(newer, msgId);
    leave();
  });
});
