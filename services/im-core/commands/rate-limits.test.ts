import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import { RateLimits } from './rate-limits.ts';

const SHIPPED = { message_per_second: 20, auth_per_second: 5, sync_inbox_per_minute: 60, sync_messages_per_minute: 120 };
const DEVICE = { tenant: 'default', userId: 1n, deviceId: 7n };

describe('RateLimits', () => {
  let now = 0;
  let limits: RateLimits;
  beforeEach(() => {
    now = 0;
    limits = new RateLimits(SHIPPED, () => now);
  });

  /** How many pass before the first refusal, and what that says. */
  function untilRefused(ask: () => void): readonly [number, unknown] {
    for (let passed = 0; passed < 1_000; passed += 1) {
      try {
        ask();
      } catch (error) {
        assert.ok(error instanceof Refusal && error.reason === 'RATE_LIMITED');
        return [passed, error.details['retry_after_ms']];
      }
    }
    return [1_000, undefined];
  }
  const ask = (command: number, device = DEVICE) => untilRefused(() => limits.assertCommand(device, command));

  it('grants a device what the settings say, each command on its own (LIM-01, LIM-03, LIM-04)', () => {
    assert.deepEqual(ask(COMMANDS.SEND_MESSAGE), [20, 50]);
    assert.deepEqual(ask(COMMANDS.SYNC_INBOX), [60, 1_000]);
    assert.deepEqual(ask(COMMANDS.SYNC_MESSAGES), [120, 500]);
    now += 1_000;
    assert.deepEqual([ask(COMMANDS.SEND_MESSAGE)[0], ask(COMMANDS.SYNC_INBOX)[0], ask(COMMANDS.SYNC_MESSAGES)[0]], [20, 1, 2]);
  });

  it('keeps tenants, users and devices apart', () => {
    ask(COMMANDS.SEND_MESSAGE);
    for (const other of [{ tenant: 'acme' }, { userId: 2n }, { deviceId: 8n }])
      assert.deepEqual(ask(COMMANDS.SEND_MESSAGE, { ...DEVICE, ...other }), [20, 50]);
  });

  it('limits AUTH by address (LIM-02), and no other command', () => {
    assert.deepEqual(
      untilRefused(() => limits.assertAuth('192.0.2.1')),
      [5, 200],
    );
    assert.deepEqual(
      untilRefused(() => limits.assertAuth('192.0.2.2')),
      [5, 200],
    );
    assert.deepEqual(ask(COMMANDS.READ_MESSAGE), [1_000, undefined]);
  });
});
