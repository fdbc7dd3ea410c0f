import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { ensureP2p } from '../conversation/p2p-conversation.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import { insertUser } from '../user/user-store.ts';
import { acceptFriend, requestFriend } from './befriend.ts';
import type { FriendDeps } from './befriend.ts';
import { listFriends } from './friend-store.ts';

describe('friends', () => {
  let fresh: FreshDatabase;
  let db: Database;
  let deps: FriendDeps;
  let lastId = 10_000n;
  let wakes = 0;
  const jobs: DeliverJob[] = [];
  const ids = { next: (above = 0n) => (lastId = (lastId > above ? lastId : above) + 1n) };

  before(async () => {
    fresh = await freshDatabase('tenant');
    db = fresh.open();
    for (let id = 100n; id < 120n; id += 1n) await insertUser(db, { userId: id, name: `user${id}`, displayName: '', passwordHash: '' });
    deps = { db, tenant: 'default', ids, wakeNotices: () => (wakes += 1), enqueue: (more) => Promise.resolve(void jobs.push(...more)) };
  });
  after(() => fresh.drop());

  const ask = (userId: bigint, otherId: bigint) => requestFriend(deps, { userId, otherId, traceId: 'req_1' });
  const accept = (userId: bigint, otherId: bigint) => acceptFriend(deps, { userId, otherId, traceId: 'req_1' });
  const states = async (userId: bigint) => (await listFriends(db, userId, 0n, 50)).map((entry) => `${entry.userId}:${entry.state}`);
  const reason = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      (error: unknown) => (error instanceof Refusal ? error.reason : String(error)),
    );
  const notices = async () =>
    (await db.select<{ user_id: string; payload: Buffer }>('SELECT user_id, payload FROM im_business_events_outbox ORDER BY id')).map(
      (row) => `${row.user_id}:${(JSON.parse(row.payload.toString()) as { event: string }).event}`,
    );

  it('ask and accept, both are told, and a repeat changes nothing (G-17, FRD-04)', async () => {
    assert.equal(await ask(100n, 101n), 'requested');
    assert.equal(await ask(100n, 101n), 'requested');
    assert.deepEqual([await states(100n), await states(101n)], [['101:requested'], ['100:incoming']]);
    assert.equal(await accept(101n, 100n), 'friend');
    assert.equal(await accept(101n, 100n), 'friend');
    assert.equal(await ask(101n, 100n), 'friend');
    assert.deepEqual([await states(100n), await states(101n)], [['101:friend'], ['100:friend']]);
    assert.deepEqual(await notices(), ['101:friend.requested', '100:friend.accepted', '101:friend.accepted']);
    assert.equal(wakes, 3);
    assert.deepEqual(jobs, []);
  });

  it('who asks whom asked him is a friend at once', async () => {
    await ask(102n, 103n);
    assert.equal(await ask(103n, 102n), 'friend');
    assert.deepEqual(await states(102n), ['103:friend']);
  });

  it('cannot be made with oneself, with nobody, without being asked, or against a block', async () => {
    assert.equal(await reason(ask(104n, 104n)), 'INVALID_ARGUMENT');
    assert.equal(await reason(ask(104n, 5n)), 'RESOURCE_NOT_FOUND');
    assert.equal(await reason(accept(104n, 105n)), 'RESOURCE_NOT_FOUND');
    await ask(104n, 105n);
    assert.equal(await reason(accept(104n, 105n)), 'RESOURCE_NOT_FOUND');
    await db.change('INSERT INTO t_blacklist (user_id, blocked_id, created_at) VALUES (107, 106, NOW(3))');
    assert.equal(await reason(ask(106n, 107n)), 'BLOCKED');
  });

  it('change the conversation that the two have already, under its lock', async () => {
    const id = await db.transaction((tx) => ensureP2p({ ids }, tx, 108n, 109n));
    await ask(108n, 109n);
    await accept(109n, 108n);
    const [row] = await db.select<{ member_version: string; last_change_id: string }>(
      'SELECT member_version, last_change_id FROM t_conversations WHERE id = ?',
      [id],
    );
    assert.equal(row?.member_version, '2');
    assert.deepEqual(
      jobs.map((job) => [job.conversationId, job.kind, job.changeId.toString()]),
      [[id, 7, row.last_change_id]],
    );
  });

  it('settle two who accept and ask at the same moment', async () => {
    await ask(110n, 111n);
    assert.deepEqual(await Promise.all([accept(111n, 110n), ask(111n, 110n), ask(110n, 111n)]).then(() => 'settled'), 'settled');
    assert.deepEqual([await states(110n), await states(111n)], [['111:friend'], ['110:friend']]);
  });

  it('come in pages', async () => {
    for (const other of [113n, 114n, 115n]) await ask(112n, other);
    const page = await listFriends(db, 112n, 113n, 1);
    assert.deepEqual(
      page.map(({ userId }) => userId),
      [114n],
    );
  });
});
