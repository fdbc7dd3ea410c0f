/**
 * Redis keys of one tenant. Tenant `default` has the bare names; others carry their code in front, so that two tenants never meet.
 *
 * @see INB-01 .. INB-06
 */
export class Keys {
  readonly prefix: string;

  /** `base` is empty in production; tests put their own word there. */
  constructor(tenantCode: string, base = '') {
    this.prefix = tenantCode === 'default' ? base : `${base}${tenantCode}:`;
  }

  /** HASH: the marks of one conversation (last, handed, resync, epoch, progress, rebuild). */
  deliver(conversationId: bigint): string {
    return `${this.prefix}im:deliver:${conversationId.toString()}`;
  }

  unread(userId: bigint): string {
    return `${this.prefix}im:dialog:unread:${userId.toString()}`;
  }

  read(userId: bigint): string {
    return `${this.prefix}im:dialog:read:${userId.toString()}`;
  }

  unreadCount(userId: bigint): string {
    return `${this.prefix}im:dialog:unreadcnt:${userId.toString()}`;
  }

  readMark(userId: bigint): string {
    return `${this.prefix}im:dialog:readmark:${userId.toString()}`;
  }

  muted(userId: bigint): string {
    return `${this.prefix}im:dialog:muted:${userId.toString()}`;
  }

  pinned(userId: bigint): string {
    return `${this.prefix}im:dialog:pinned:${userId.toString()}`;
  }

  preview(conversationId: bigint): string {
    return `${this.prefix}im:dialog:preview:${conversationId.toString()}`;
  }

  presence(userId: bigint): string {
    return `${this.prefix}im:presence:${userId.toString()}`;
  }
}

/** LIST of frames for the sessions of one process. */
export function processInboxKey(base: string, processId: string): string {
  return `${base}im:process:${processId}`;
}
