import { createHash, randomBytes } from 'node:crypto';
import type { Queryable, Tx } from '#shared/platform/mysql/database.ts';

export interface RefreshToken {
  readonly userId: bigint;
  readonly deviceId: bigint;
  /** Sum of the user's and the device's auth_version when it was issued. Both only rise, so it holds exactly while neither moved. */
  readonly version: bigint;
  readonly isUsed: boolean;
  readonly expiresAt: Date;
}

const INSERT = `
  INSERT INTO t_refresh_tokens (token_hash, user_id, device_id, auth_version, expires_at, created_at) VALUES (?, ?, ?, ?, ?, ?)`;
const LOCK = `
  SELECT user_id, device_id, auth_version, used_at, expires_at FROM t_refresh_tokens FORCE INDEX (PRIMARY) WHERE token_hash = ? FOR UPDATE`;
const USE = 'UPDATE t_refresh_tokens SET used_at = ? WHERE token_hash = ? AND used_at IS NULL';
const DROP = 'DELETE FROM t_refresh_tokens WHERE user_id = ? AND device_id = ?';

/** Makes a token that names its tenant, so that a refresh finds its database, and stores only its hash. */
export async function issueRefreshToken(
  tx: Queryable,
  tenant: string,
  { userId, deviceId, version, expiresAt }: Omit<RefreshToken, 'isUsed'>,
): Promise<string> {
  const token = `${tenant}.${randomBytes(32).toString('base64url')}`;
  await tx.change(INSERT, [hashOf(token), userId, deviceId, version, expiresAt, new Date()]);
  return token;
}

/** The tenant code in a token's text; undefined when it has not the form of one. */
export function tenantOfRefreshToken(token: string): string | undefined {
  return /^([a-z][a-z0-9_-]{0,31})\.[A-Za-z0-9_-]{43}$/.exec(token)?.[1];
}

export async function lockRefreshToken(tx: Tx, token: string): Promise<RefreshToken | undefined> {
  const [row] = await tx.select<{ user_id: string; device_id: string; auth_version: string; used_at: Date | null; expires_at: Date }>(
    LOCK,
    [hashOf(token)],
  );
  if (row === undefined) return undefined;
  return {
    userId: BigInt(row.user_id),
    deviceId: BigInt(row.device_id),
    version: BigInt(row.auth_version),
    isUsed: row.used_at !== null,
    expiresAt: row.expires_at,
  };
}

export async function markRefreshTokenUsed(tx: Tx, token: string): Promise<void> {
  await tx.change(USE, [new Date(), hashOf(token)]);
}

export async function dropRefreshTokens(tx: Queryable, userId: bigint, deviceId: bigint): Promise<void> {
  await tx.change(DROP, [userId, deviceId]);
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
