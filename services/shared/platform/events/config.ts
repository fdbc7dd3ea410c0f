import { duration, integer, rendered } from '../config/setting.ts';

/** How an outbox is read. */
export const relaySection = {
  batch: rendered(integer('rows read and sent at a time', { default: 500, min: 1, max: 5_000 })),
  poll: rendered(duration('how often the outbox is read when no wake-up came', { default: '1s', min: '10ms', max: '60s' })),
};
