import { integer } from '#shared/platform/config/setting.ts';

export const taskPoolSection = {
  size: integer('Client commands at work at the same time in one process.', { default: 256, min: 1, max: 4_096 }),
  queue: integer('Client commands that may wait for that; further ones are answered 50301 BUSY.', { default: 1_024, min: 1, max: 65_536 }),
};

const PER_DEVICE = { min: 1, max: 100_000 };

/** What is over a limit is answered 42901 RATE_LIMITED with retry_after_ms. @see LIM-01 .. LIM-06 */
export const rateLimitSection = {
  message_per_second: integer('SEND_MESSAGE of one device in a second.', { default: 20, ...PER_DEVICE }),
  auth_per_second: integer('AUTH of one address in a second, and as many requests to register, log in or renew a login.', {
    default: 5,
    ...PER_DEVICE,
  }),
  sync_inbox_per_minute: integer('SYNC_INBOX of one device in a minute.', { default: 60, ...PER_DEVICE }),
  sync_messages_per_minute: integer('SYNC_MESSAGES of one device in a minute.', { default: 120, ...PER_DEVICE }),
  history_per_minute: integer('History requests of one device in a minute.', { default: 200, ...PER_DEVICE }),
};
