/** Kafka topics of the product (KFK-01 .. KFK-12). */
export const TOPICS = [
  'im.admin.command',
  'im.admin.command.result',
  'im.config.event',
  'im.business.event',
  'im.message.persist',
  'im.message.push',
  'im.file.security',
  'im.file.lifecycle',
  'im.workbench.event',
  'im.cache.invalidate',
  'im.audit.event',
  'im.dead.letter',
] as const;

export type Topic = (typeof TOPICS)[number];
