import assert from 'node:assert/strict';
import type { StoredMessage } from '#shared/tenant/message/new-message.ts';
import { fittingPage } from './sync-messages.ts';

function message(id: bigint, contentBytes: number): StoredMessage {
  return {
    id,
    conversationId: 1n,
    senderId: 2n,
    clientMsgId: 'k',
    messageType: 1,
    content: Buffer.from(JSON.stringify({ t: 1, text: 'é'.repeat(contentBytes / 2) })),
    status: 1,
    prevMsgId: 0n,
    prevChangeId: 0n,
    createdAt: new Date(0),
  };
}

describe('a page of SYNC_MESSAGES', () => {
  const messages = [10n, 20n, 30n].map((id) => message(id, 1000));

  it('stays as it is where it fits', () => {
    const page = fittingPage({ messages, hasMore: false, lastId: 35n }, 10_000);
    assert.equal(page.messages.length, 3);
    assert.deepEqual([page.hasMore, page.lastId], [false, 35n]);
  });

  it('ends at the last message that fits, and the next page begins there', () => {
    const page = fittingPage({ messages, hasMore: false, lastId: 35n }, 2700);
    assert.equal(page.messages.length, 2);
    assert.deepEqual([page.hasMore, page.lastId], [true, 20n]);
  });

  it('has one message at least, so that it always advances', () => {
    const page = fittingPage({ messages, hasMore: false, lastId: 35n }, 10);
    assert.deepEqual([page.messages.length, page.hasMore, page.lastId], [1, true, 10n]);
  });
});
