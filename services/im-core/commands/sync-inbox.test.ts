import assert from 'node:assert/strict';
import type { InboxPage } from '#shared/tenant/dialog/sync-inbox.ts';
import { fittingInbox } from './sync-inbox.ts';

const FROM = { dialogScore: 5n, mailboxSeq: 6n };

function dialog(score: number, textLength: number): InboxPage['dialogs'][number] {
  const flags = { muted: false, pinned: false, left: false };
  const preview = JSON.stringify({ text: 'x'.repeat(textLength) });
  return { conversationId: '1', score: String(score), unread: 0, ...flags, preview, type: 1, lastMsgId: '1' };
}

function page(textLength: number): InboxPage {
  const dialogs = [10, 20, 30].map((score) => dialog(score, textLength));
  const events = [{ seq: 7n, eventType: 5, conversationId: 1n, changeId: 0n, payload: '' }];
  return { syncEpoch: 'e', dialogs, events, cursors: { dialogScore: 30n, mailboxSeq: 7n }, hasMore: false };
}

describe('a page of SYNC_INBOX', () => {
  it('stays as it is where it fits', () => {
    const whole = page(100);
    assert.equal(fittingInbox(whole, FROM, 10_000), whole);
  });

  it('ends at the last entry that fits, and the next page begins there', () => {
    const { dialogs, events, cursors, hasMore } = fittingInbox(page(1_000), FROM, 2_700);
    assert.deepEqual([dialogs.length, events.length, hasMore], [2, 0, true]);
    assert.deepEqual(cursors, { dialogScore: 20n, mailboxSeq: 6n });
  });

  it('has one entry at least, so that it always advances', () => {
    assert.deepEqual(fittingInbox(page(1_000), FROM, 10).cursors, { dialogScore: 10n, mailboxSeq: 6n });
    const { events, cursors } = fittingInbox({ ...page(1), dialogs: [] }, FROM, 10);
    assert.deepEqual([events.length, cursors], [1, { dialogScore: 30n, mailboxSeq: 7n }]);
  });
});
