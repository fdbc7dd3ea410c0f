import type { Topic } from './topics.ts';

/** A process, as it signs its records (header `x-service`). */
export type SigningService = 'im-core' | 'outbox-and-cron' | 'hotgo-admin-api';

/**
 * Who may write to which topic. Rows of a tenant's outbox are sent, and so signed, by outbox-and-cron, whoever inserted them;
 * those of the back office by hotgo-admin-api. @see KFK-21 @see X-16
 */
export const PRODUCERS: Readonly<Record<Topic, readonly SigningService[]>> = {
  'im.admin.command': ['hotgo-admin-api'],
  'im.admin.command.result': ['outbox-and-cron'],
  'im.config.event': ['hotgo-admin-api'],
  'im.business.event': ['outbox-and-cron', 'hotgo-admin-api'],
  'im.message.persist': ['outbox-and-cron'],
  'im.message.push': ['outbox-and-cron'],
  'im.file.security': ['outbox-and-cron'],
  'im.file.lifecycle': ['outbox-and-cron'],
  'im.workbench.event': ['outbox-and-cron', 'hotgo-admin-api'],
  'im.cache.invalidate': ['outbox-and-cron', 'hotgo-admin-api'],
  'im.audit.event': ['outbox-and-cron', 'hotgo-admin-api'],
  'im.dead.letter': ['outbox-and-cron', 'hotgo-admin-api'],
};
