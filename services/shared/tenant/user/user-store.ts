import { USER_STATES } from '#shared/contract/commands.ts';
import type { Database, Queryable } from '#shared/platform/mysql/database.ts';

export const USER_KINDS = { PERSON: 1, SERVICE: 2 } as const;

/** Open tenant databases by tenant code. */
export type TenantDatabases = ReadonlyMap<string, Database>;

/** What others may see of a user. */
export interface Profile {
  readonly userId: bigint;
  readonly name: string;
  readonly displayName: string;
}

/** What decides whether a user may come in. */
export interface Account {
  readonly userId: bigint;
  readonly passwordHash: string;
  readonly state: number;
  readonly authVersion: bigint;
}

/** Both versions of a session's owner, as they are now. */
export interface Standing {
  readonly state: number;
  readonly authVersion: bigint;
  /** 0 = the device never logged in. */
  readonly deviceVersion: bigint;
}

interface ProfileRow {
  readonly id: string;
  readonly name: string;
  readonly display_name: string;
}

const INSERT = `
  INSERT INTO t_users (id, name, display_name, kind, password_hash, created_at, updated_at) VALUES (?, ?, ?, 1, ?, ?, ?)`;
const BY_NAME = 'SELECT id, password_hash, state, auth_version FROM t_users WHERE name = ?';
const STANDING = `
  SELECT u.state, u.auth_version, COALESCE(d.auth_version, 0) AS device_version
    FROM t_users u LEFT JOIN t_devices d ON d.user_id = u.id AND d.device_id = ?
   WHERE u.id = ?`;
const PROFILES = 'SELECT id, name, display_name FROM t_users WHERE kind = 1 AND state <> 3 AND';
const TOUCH_DEVICE = `
  INSERT INTO t_devices (user_id, device_id, platform, created_at, last_seen_at) VALUES (?, ?, ?, ?, ?) AS seen
  ON DUPLICATE KEY UPDATE platform = seen.platform, last_seen_at = seen.last_seen_at`;
const RAISE_DEVICE = 'UPDATE t_devices SET auth_version = auth_version + 1 WHERE user_id = ? AND device_id = ?';

/** @throws 1062 when the name is taken */
export async function insertUser(db: Queryable, user: Profile & { readonly passwordHash: string }): Promise<void> {
  const now = new Date();
  await db.change(INSERT, [user.userId, user.name, user.displayName, Buffer.from(user.passwordHash), now, now]);
}

export async function findAccount(db: Queryable, name: string): Promise<Account | undefined> {
  const [row] = await db.select<{ id: string; password_hash: Buffer; state: number; auth_version: string }>(BY_NAME, [name]);
  if (row === undefined) return undefined;
  return { userId: BigInt(row.id), passwordHash: row.password_hash.toString(), state: row.state, authVersion: BigInt(row.auth_version) };
}

/** Undefined when there is no such user. */
export async function findStanding(db: Queryable, userId: bigint, deviceId: bigint): Promise<Standing | undefined> {
  const [row] = await db.select<{ state: number; auth_version: string; device_version: string }>(STANDING, [deviceId, userId]);
  if (row === undefined) return undefined;
  return { state: row.state, authVersion: BigInt(row.auth_version), deviceVersion: BigInt(row.device_version) };
}

/** People (no service users, nobody deleted) by id, in id order. `ids` must not be empty. */
export async function findProfiles(db: Queryable, ids: readonly bigint[]): Promise<readonly Profile[]> {
  return profiles(await db.select<ProfileRow>(`${PROFILES} id IN (?) ORDER BY id`, [ids]));
}

/** The person with exactly this name, without regard to case. */
export async function findProfileByName(db: Queryable, name: string): Promise<Profile | undefined> {
  return profiles(await db.select<ProfileRow>(`${PROFILES} name = ?`, [name]))[0];
}

function profiles(rows: readonly ProfileRow[]): readonly Profile[] {
  return rows.map((row) => ({ userId: BigInt(row.id), name: row.name, displayName: row.display_name }));
}

/** Notes a device at login; its version stays. */
export async function touchDevice(db: Queryable, device: { userId: bigint; deviceId: bigint; platform: string }): Promise<void> {
  const now = new Date();
  await db.change(TOUCH_DEVICE, [device.userId, device.deviceId, Buffer.from(device.platform), now, now]);
}

/** Every token that the device holds is refused from now on. */
export async function raiseDeviceVersion(db: Queryable, userId: bigint, deviceId: bigint): Promise<void> {
  await db.change(RAISE_DEVICE, [userId, deviceId]);
}

export function isActive({ state }: Pick<Standing, 'state'>): boolean {
  return state === USER_STATES.OK;
}
