import assert from 'node:assert/strict';
import { errorFields } from './log.ts';

describe('an error in a log line', () => {
  it('tells what happened and where, and nothing of what was being written (OBS-14)', () => {
    const sql = `INSERT INTO t_messages (content) VALUES ('my secret')`;
    const inner = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', errno: -104, sql, parameters: ['my secret'] });
    const outer = Object.assign(new TypeError('Lock wait timeout', { cause: inner }), {
      code: 'ER_LOCK_WAIT_TIMEOUT',
      errno: 1205,
      sqlState: 'HY000',
      sql,
      parent: inner,
      original: inner,
    });
    const fields = errorFields(outer);
    assert.equal(JSON.stringify(fields).includes('my secret'), false);
    const { type, code, errno, message, stack } = fields;
    assert.deepEqual([type, code, errno], ['TypeError', 'ER_LOCK_WAIT_TIMEOUT', 1205]);
    assert.match(String(message), /Lock wait timeout.*read ECONNRESET/);
    assert.match(String(stack), /log\.test\.ts/);
  });
});
