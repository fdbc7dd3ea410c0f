import assert from 'node:assert/strict';
import { startOwnMysql } from '#shared/testing/own-servers.ts';
import { testServers } from '#shared/testing/servers.ts';
import { within } from '#shared/testing/wait.ts';
import { Lane } from './lane.ts';

describe('Lane', () => {
  const lanes: Lane[] = [];
  const open = (login = testServers().mysql, timeoutMs?: number): Lane => {
    const lane = new Lane(login, 'mysql', timeoutMs);
    lanes.push(lane);
    return lane;
  };
  after(() => Promise.all(lanes.map((lane) => lane.close())));

  it('runs several statements in one packet and gives the rows of each', async () => {
    const rows = await open().packet([
      { sql: 'SELECT ? AS id', params: [9_007_199_254_740_993n] },
      { sql: 'DO 1', params: [] },
      { sql: 'SELECT ? AS bytes', params: [Buffer.from("x'; DROP")] },
    ]);
    assert.equal(rows.length, 3);
    assert.equal(String(rows[0]?.[0]?.id), '9007199254740993');
    assert.deepEqual(Buffer.from(rows[2]?.[0]?.bytes as string), Buffer.from("x'; DROP"));
  });

  it('works again after its connection was killed', async () => {
    const [one, other] = [open(), open()];
    const [[row] = []] = await one.packet([{ sql: 'SELECT CONNECTION_ID() AS id', params: [] }]);
    await other.packet([{ sql: `KILL ${String(row?.id)}`, params: [] }]);
    await one.packet([{ sql: 'SELECT 1', params: [] }]).catch(() => undefined); // it may have noticed by itself already
    await one.rollback();
    assert.equal((await one.packet([{ sql: 'SELECT 1', params: [] }])).length, 1);
  });

  it('never goes on with a transaction on another connection than it began on', async () => {
    const [one, other] = [open(), open()];
    const [, [row] = []] = await one.packet([
      { sql: 'BEGIN', params: [] },
      { sql: 'SELECT CONNECTION_ID() AS id', params: [] },
    ]);
    await other.packet([{ sql: `KILL ${String(row?.id)}`, params: [] }]);
    // Whether the loss is noticed before the statement is sent or by it: the statement runs nowhere.
    for (let n = 0; n < 2; n += 1) await assert.rejects(one.more([{ sql: 'SELECT 1', params: [] }]));
    await one.rollback();
    assert.equal((await one.packet([{ sql: 'SELECT 1', params: [] }])).length, 1);
  });

  it('gives up on a MySQL that hangs, and works again when it is back', async () => {
    const mysql = await startOwnMysql();
    try {
      const lane = open(mysql, 300);
      await lane.packet([{ sql: 'SELECT 1', params: [] }]);
      mysql.pause();
      await assert.rejects(lane.packet([{ sql: 'SELECT 1', params: [] }]), /no answer within 300 ms/);
      mysql.resume();
      await lane.packet([{ sql: 'BEGIN', params: [] }]);
      mysql.pause();
      await within(lane.rollback(), { what: 'the rollback to be given up', deadlineMs: 2_000 });
      mysql.resume();
      assert.equal((await lane.packet([{ sql: 'SELECT 1', params: [] }])).length, 1);
      await lane.close();
    } finally {
      await mysql.stop();
    }
  });
});
