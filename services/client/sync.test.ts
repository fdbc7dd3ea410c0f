import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { RefusedError } from './answer.ts';
import type { Data } from './answer.ts';
import { syncInbox, syncMessages } from './sync.ts';
import type { Requester } from './sync.ts';

/** Answers from a script, and remembers what it was asked. */
function scripted(answers: readonly Data[]): Requester & { readonly asked: [number, object][] } {
  const rest = [...answers];
  const asked: [number, object][] = [];
  return {
    asked,
    request: (command, body) => {
      asked.push([command, body]);
      return Promise.resolve({ command, data: rest.shift() ?? {}, traceId: '' });
    },
  };
}

function page(epoch: string, score: string, hasMore: boolean): Data {
  return { sync_epoch: epoch, dialogs: [{ conversation_id: score }], events: [], dialog_score: score, mailbox_seq: '1', has_more: hasMore };
}

const message = (id: string): Data => ({
  conversation_id: '7',
  msg_id: id,
  prev_msg_id: '0',
  sender_id: '1',
  client_msg_id: 'k',
  content: {},
  created_at: '2026-01-01T00:00:00.000Z',
});

describe('sync', () => {
  it('reads the inbox to its end and says so', async () => {
    const requester = scripted([page('e', '10', true), page('e', '20', false)]);
    const { dialogs, cursor } = await syncInbox(requester, { syncEpoch: 'e', dialogScore: '5', mailboxSeq: '0' });
    assert.equal(dialogs.length, 2);
    assert.deepEqual(cursor, { syncEpoch: 'e', dialogScore: '20', mailboxSeq: '1' });
    assert.deepEqual(requester.asked.at(-1), [COMMANDS.SYNC_INBOX_FINISH, { dialog_score: '20', mailbox_seq: '1' }]);
    assert.deepEqual(requester.asked[1]?.[1], { dialog_score: '10', mailbox_seq: '1', limit: 200 });
  });

  it('starts from the beginning in another epoch', async () => {
    const requester = scripted([page('new', '30', false), page('new', '40', false)]);
    await syncInbox(requester, { syncEpoch: 'old', dialogScore: '5', mailboxSeq: '0' });
    assert.deepEqual(requester.asked[1]?.[1], { dialog_score: '0', mailbox_seq: '0', limit: 200 });
  });

  it('reads messages to their end, from the last of each page', async () => {
    const requester = scripted([
      { messages: [message('9'), message('10')], has_more: true, last_msg_id: '10', read_msg_id: '0' },
      { messages: [message('11')], has_more: false, last_msg_id: '11', read_msg_id: '9' },
    ]);
    const { messages, readMsgId } = await syncMessages(requester, '7', '8');
    assert.deepEqual(
      messages.map(({ msgId }) => msgId),
      ['9', '10', '11'],
    );
    assert.equal(readMsgId, '9');
    assert.deepEqual(requester.asked[1]?.[1], { conversation_id: '7', last_msg_id: '10', limit: 200 });
    assert.deepEqual(requester.asked[2], [COMMANDS.SYNC_MESSAGES_FINISH, { conversation_id: '7', last_msg_id: '11' }]);
  });

  it('asks for less when a page fits no frame', async () => {
    const limits: unknown[] = [];
    const page = { messages: [], has_more: false, last_msg_id: '8', read_msg_id: '0' };
    const requester: Requester = {
      request: (command, body) => {
        const limit: unknown = 'limit' in body ? body.limit : undefined;
        limits.push(limit);
        if (limit !== 50 && command === COMMANDS.SYNC_MESSAGES) {
          return Promise.reject(new RefusedError({ code: 41301, msg: 'too large', request_id: '', data: { reason: 'TOO_LARGE' } }));
        }
        return Promise.resolve({ command, data: page, traceId: '' });
      },
    };
    await syncMessages(requester, '7', '8');
    assert.deepEqual(limits, [200, 100, 50, undefined]);
  });

  it('asks for the same page again when it may, and gives up in the end (LIM-04)', async () => {
    let asked = 0;
    const tooFast = (times: number): Requester => ({
      request: (command) => {
        asked += 1;
        const data = { reason: 'RATE_LIMITED', retry_after_ms: 1 };
        if (asked <= times) return Promise.reject(new RefusedError({ code: 42901, msg: 'slower', request_id: '', data }));
        return Promise.resolve({ command, data: { messages: [], has_more: false, last_msg_id: '8', read_msg_id: '3' }, traceId: '' });
      },
    });
    assert.equal((await syncMessages(tooFast(2), '7', '8')).readMsgId, '3');
    assert.equal(asked, 4);
    asked = 0;
    await assert.rejects(syncMessages(tooFast(1_000), '7', '8'), /RATE_LIMITED/);
    assert.equal(asked, 6);
  });

  it('does not go round in circles when pages do not advance', async () => {
    const requester = scripted([{ messages: [], has_more: true, last_msg_id: '8', read_msg_id: '0' }]);
    await assert.rejects(syncMessages(requester, '7', '8'), /does not advance/);
  });
});
