import { COMMANDS } from '#shared/contract/commands.ts';
import { pushBody } from '#shared/contract/frame-body.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import type { Device, DialogLists } from '../deliver/dialog-lists.ts';
import { applyReadStep } from '../dialog/read-step.ts';
import { pushToProcess } from '../presence/process-inbox.ts';
import type { NoticeKind } from './append-notice.ts';

/** A notice as its row has it. */
export interface Notice {
  readonly kind: NoticeKind;
  readonly conversationId: bigint;
  /** 0n = the members of the conversation. */
  readonly userId: bigint;
  readonly excludeDevice: bigint;
  /** Data of the frame, JSON text. */
  readonly payload: string;
}

export interface DeliverNoticeDeps {
  readonly tenant: string;
  readonly db: Database;
  readonly redis: Redis;
  readonly lists: DialogLists;
  /** Put in front of keys that belong to no tenant; empty in production. */
  readonly base: string;
}

const COMMAND_OF: Readonly<Record<NoticeKind, number>> = {
  READ: COMMANDS.READ_MESSAGE,
  EVENT: COMMANDS.EVENT,
  KICK: COMMANDS.KICK,
  FRIEND: COMMANDS.EVENT,
};
const MEMBERS = 'SELECT user_id FROM t_conversation_members WHERE conversation_id = ? AND present = 1 ORDER BY user_id';

/**
 * Does what a notice is for: the Redis step of a READ, then frames to the devices it concerns, by way of their processes' lists. Safe to
 * repeat; the caller finishes the row afterwards. Offline devices learn of it when they sync.
 *
 * @returns devices that a frame was queued for
 * @throws when MySQL or Redis is away, a read step did not come to rest, or a process takes no more frames: the row stays and is tried again
 */
export async function deliverNotice(deps: DeliverNoticeDeps, notice: Notice): Promise<number> {
  if (notice.kind === 'READ' && !(await applyReadStep(deps, notice.conversationId, notice.userId))) {
    throw new Error('the read step did not come to rest');
  }
  const devices = await deps.lists.presence(await recipients(deps.db, notice));
  const targets = devices.filter(({ userId, deviceId }) => userId !== notice.userId || deviceId !== notice.excludeDevice);
  const body = pushBody(Buffer.from(notice.payload)).toString();
  for (const [processId, ofProcess] of Map.groupBy(targets, (device) => device.processId)) {
    const items = ofProcess.map(toItem(deps.tenant, COMMAND_OF[notice.kind], body));
    const overflow = await pushToProcess(deps.redis, deps.base, processId, items);
    if (overflow.length > 0) throw new Error(`the inbox of process ${processId} is full`);
  }
  return targets.length;
}

async function recipients(db: Database, { userId, conversationId }: Notice): Promise<readonly bigint[]> {
  if (userId !== 0n) return [userId];
  const rows = await db.select<{ user_id: string }>(MEMBERS, [conversationId]);
  return rows.map((row) => BigInt(row.user_id));
}

function toItem(
  tenant: string,
  command: number,
  body: string,
): (device: Device) => { tenant: string; device: Device; command: number; body: string } {
  return (device) => ({ tenant, device, command, body });
}
