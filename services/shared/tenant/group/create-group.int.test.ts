import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import type { DeliverJob } from '../deliver/deliver-job.ts';
import { insertUser } from '../user/user-store.ts';
import { createGroup, MAX_NEW_MEMBERS } from './create-group.ts';
import { findGroup, findRole, listMembers } from './group-store.ts';

describe('a new group', () => {
  let fresh: FreshDatabase;
  let db: Database;
  let lastId = 10_000n;
  const jobs: DeliverJob[] = [];
  const ids = { next: (above = 0n) => (lastId = (lastId > above ? lastId : above) + 1n) };

  before(async () => {
    fresh = await freshDatabase('tenant');
    db = fresh.open();
    await db.transaction(async (tx) => {
      for (let id = 100n; id < 700n; id += 1n) {
        await insertUser(tx, { userId: id, name: `user${id}`, displayName: `Ünal ${id}`, passwordHash: '' });
      }
    });
  });
  after(() => fresh.drop());
  beforeEach(() => {
    jobs.length = 0;
  });

  const deps = () => ({ db, tenant: 'default', ids, enqueue: (more: readonly DeliverJob[]) => Promise.resolve(void jobs.push(...more)) });
  const create = (memberIds: readonly bigint[], name = 'Shift A') => createGroup(deps(), { ownerId: 100n, name, memberIds });
  const reason = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      (error: unknown) => (error instanceof Refusal ? error.reason : String(error)),
    );

  it('has its creator as owner, and everybody joined with its first change', async () => {
    const id = await create([101n, 102n, 101n, 100n]);
    const group = await findGroup(db, id);
    assert.deepEqual([group?.name, group?.ownerId, group?.memberCount, group?.version], ['Shift A', 100n, 3, 1]);
    assert.deepEqual([await findRole(db, id, 100n), await findRole(db, id, 101n), await findRole(db, id, 103n)], [1, 3, undefined]);
    const [job] = jobs;
    assert.equal(jobs.length, 1);
    assert.deepEqual([job?.kind, job?.prevChangeId, job?.data], [6, 0n, '{"joined":["100","101","102"]}']);
    const [head] = await db.select<{ last_change_id: string; last_msg_id: string }>(
      'SELECT last_change_id, last_msg_id FROM t_conversations WHERE id = ?',
      [id],
    );
    assert.deepEqual([head?.last_change_id, head?.last_msg_id], [job?.changeId.toString(), '0']);
    const intervals = await db.select<{ join_change_id: string }>(
      'SELECT join_change_id FROM t_member_intervals WHERE conversation_id = ?',
      [id],
    );
    assert.deepEqual(new Set(intervals.map((row) => row.join_change_id)), new Set([job?.changeId.toString()]));
  });

  it('takes five hundred members in a chain of changes and refuses one more', async () => {
    const others = Array.from({ length: MAX_NEW_MEMBERS }, (_, index) => 101n + BigInt(index));
    assert.equal(await reason(create(others)), 'INVALID_ARGUMENT');
    const id = await create(others.slice(1));
    assert.equal((await findGroup(db, id))?.memberCount, MAX_NEW_MEMBERS);
    assert.equal(jobs.length, 2);
    assert.equal(jobs[1]?.prevChangeId, jobs[0]?.changeId);
  });

  it('is not made with somebody who does not exist, or without a name', async () => {
    assert.equal(await reason(create([101n, 5n])), 'RESOURCE_NOT_FOUND');
    for (const name of ['', '  ', 'a\nb', 'x'.repeat(129)]) assert.equal(await reason(create([], name)), 'INVALID_ARGUMENT');
    const [count] = await db.select<{ n: string }>(`SELECT COUNT(*) AS n FROM t_groups WHERE name = 'x'`);
    assert.equal(count?.n, '0');
    assert.deepEqual(jobs, []);
  });

  it('lists members by page, role, prefix and mute (QRY-04, G-31)', async () => {
    const id = await create([101n, 102n, 110n]);
    await db.change('INSERT INTO im_group_mutes (conversation_id, user_id, expires_at, actor_user_id, created_at) VALUES ?', [
      [
        [id, 101n, null, 1n, new Date()],
        [id, 102n, new Date(Date.now() - 1_000), 1n, new Date()],
      ],
    ]);
    const list = (filter: Partial<Parameters<typeof listMembers>[2]>) => listMembers(db, id, { after: 0n, limit: 10, ...filter });
    const idsOf = async (filter: Partial<Parameters<typeof listMembers>[2]>) => (await list(filter)).map(({ userId }) => Number(userId));
    assert.deepEqual(await idsOf({ limit: 2 }), [100, 101]);
    assert.deepEqual(await idsOf({ after: 101n }), [102, 110]);
    assert.deepEqual(await idsOf({ roles: [1] }), [100]);
    assert.deepEqual(await idsOf({ prefix: 'user10' }), [100, 101, 102]);
    assert.deepEqual(await idsOf({ prefix: 'UNAL 11' }), [110]);
    assert.deepEqual(await idsOf({ prefix: '%' }), []);
    assert.deepEqual(await idsOf({ prefix: '11' }), [110]);
    assert.deepEqual(await idsOf({ prefix: 'usr10' }), [100, 101, 102]);
    assert.deepEqual(
      (await list({})).map(({ isMuted }) => isMuted),
      [false, true, false, false],
    );
  });
});
