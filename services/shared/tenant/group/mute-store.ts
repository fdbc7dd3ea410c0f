import type { Tx } from '#shared/platform/mysql/database.ts';

export interface Mute {
  readonly conversationId: bigint;
  readonly userId: bigint;
  /** Null = until it is lifted. */
  readonly expiresAt: Date | null;
  readonly reason: string;
  readonly actorId: bigint;
}

const GROUP = 'SELECT state, version FROM t_groups WHERE conversation_id = ?';
const ACTOR = 'SELECT state FROM t_users WHERE id = ?';
const RAISE = 'UPDATE t_groups SET version = version + 1, updated_at = ? WHERE conversation_id = ?';
const MUTE = `
  INSERT INTO im_group_mutes (conversation_id, user_id, expires_at, reason, actor_user_id, created_at) VALUES (?, ?, ?, ?, ?, ?) AS new
  ON DUPLICATE KEY UPDATE expires_at = new.expires_at, reason = new.reason, actor_user_id = new.actor_user_id, created_at = new.created_at`;
const UNMUTE = 'DELETE FROM im_group_mutes WHERE conversation_id = ? AND user_id = ?';

/** State (1 = normal, 2 = dissolved) and version as they stay while the conversation is locked. */
export async function findGroupState(tx: Tx, conversationId: bigint): Promise<{ state: number; version: number } | undefined> {
  const [row] = await tx.select<{ state: number; version: string }>(GROUP, [conversationId]);
  return row === undefined ? undefined : { state: row.state, version: Number(row.version) };
}

/** State of any user, service users too. */
export async function findActorState(tx: Tx, userId: bigint): Promise<number | undefined> {
  const [row] = await tx.select<{ state: number }>(ACTOR, [userId]);
  return row?.state;
}

export async function raiseGroupVersion(tx: Tx, conversationId: bigint): Promise<void> {
  await tx.change(RAISE, [new Date(), conversationId]);
}

/** A new mute replaces the old one. */
export async function setMute(tx: Tx, { conversationId, userId, expiresAt, reason, actorId }: Mute): Promise<void> {
  await tx.change(MUTE, [conversationId, userId, expiresAt, reason, actorId, new Date()]);
}

/** @returns whether there was one, run out or not */
export async function removeMute(tx: Tx, conversationId: bigint, userId: bigint): Promise<boolean> {
  const { rows } = await tx.change(UNMUTE, [conversationId, userId]);
  return rows > 0;
}
