import assert from 'node:assert/strict';
import { Refusal } from '#shared/contract/reasons.ts';
import { isOutage } from './failure.ts';

const error = (fields: object, cause?: Error): Error => Object.assign(new Error('x', cause === undefined ? {} : { cause }), fields);

describe('an outage', () => {
  it('is what comes from a server that is away, wherever the driver put it (RTY-13)', () => {
    for (const away of [
      error({ code: 'ECONNREFUSED' }),
      error({ code: 'PROTOCOL_CONNECTION_LOST', errno: 0 }),
      error({ code: 'ER_LOCK_DEADLOCK', errno: 1213 }),
      error({}, error({ errno: 1053 })),
      error({ parent: error({ code: 'ETIMEDOUT' }) }),
      error({ fatal: true }),
      new Error('Connection is closed.'),
      new Error("Stream isn't writeable and enableOfflineQueue options is false"),
      new Error('OOM command not allowed when used memory > maxmemory'),
      new Refusal('BUSY'),
      error({ name: 'SequelizeConnectionAcquireTimeoutError' }),
      new Error('NOAUTH Authentication required.'),
      new Error('BUSY Redis is busy running a script.'),
    ]) {
      assert.equal(isOutage(away), true, away.message);
    }
  });

  it('is no bug, no refused statement and no business reason', () => {
    for (const fault of [
      new TypeError('x is undefined'),
      error({ code: 'ER_DATA_TOO_LONG', errno: 1406 }),
      error({ code: 'ERR_INVALID_ARG_TYPE' }),
      new Refusal('FORBIDDEN'),
      'text',
    ]) {
      assert.equal(isOutage(fault), false, String(fault));
    }
  });
});
