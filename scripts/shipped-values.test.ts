import assert from 'node:assert/strict';
import { defaultOf } from './configure/check-file.ts';
import { operatorSchema } from './configure/schema.ts';

/** `a.b` of a settings object; undefined where it ends before. */
function at(settings: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (inner, name) => (typeof inner === 'object' && inner !== null ? Object.entries(inner).find(([key]) => key === name)?.[1] : undefined),
      settings,
    );
}

/** Path in the settings, times in ms and sizes in bytes -> the value that was asked for, or that we decided on. */
const ASKED_FOR: readonly (readonly [path: string, value: unknown])[] = [
  ['server.tcp.idle_timeout_ms', 120_000],
  ['server.tcp.keepalive_ms', 30_000],
  ['server.tcp.compress_min_size', 512],
  ['server.tcp.max_frame_size', 131_072], // Asked for: 65536, into which the largest content would not fit.
  ['message.max_content_size', 65_536],
  ['message.sync_limit', 200],
  ['message.msgid_expire_ms', 300_000],
  ['message.persist_mode', 'sync'],
  ['taskpool.size', 256],
  ['taskpool.queue', 1_024],
  ['deliver.workers', 8],
  ['deliver.take_timeout_ms', 5_000],
  ['rate_limit.message_per_second', 20],
  ['rate_limit.auth_per_second', 5],
  ['rate_limit.sync_inbox_per_minute', 60],
  ['rate_limit.sync_messages_per_minute', 120],
  ['rate_limit.history_per_minute', 200],
  ['kafka.retry_backoff_ms', [10_000, 30_000, 60_000, 300_000, 900_000]],
  ['kafka.max_retry_count', 5],
  ['internal_api.time_window_seconds', 300],
  ['id.snowflake_worker_id', 1],
];

describe('the shipped settings', () => {
  const settings: unknown = defaultOf(operatorSchema);

  for (const [path, value] of ASKED_FOR) {
    it(`have the value that was asked for: ${path}`, () => {
      assert.deepEqual(at(settings, path), value);
    });
  }
});
