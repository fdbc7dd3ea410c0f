import { CONVERSATION_TYPES } from '#shared/contract/commands.ts';
import type { Queryable, Tx } from '#shared/platform/mysql/database.ts';

export interface Group {
  readonly conversationId: bigint;
  readonly name: string;
  readonly avatar: string;
  readonly intro: string;
  readonly ownerId: bigint;
  /** 1 = normal, 2 = dissolved. */
  readonly state: number;
  readonly muteAll: boolean;
  readonly joinApproval: boolean;
  readonly memberInvite: boolean;
  /** Raised by every governance command (GRP-06). */
  readonly version: number;
  readonly memberVersion: bigint;
  readonly memberCount: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface GroupMember {
  readonly userId: bigint;
  readonly name: string;
  readonly displayName: string;
  /** 1 = owner, 2 = admin, 3 = member. */
  readonly role: number;
  readonly joinedAt: Date;
  readonly isMuted: boolean;
  /** Null while muted: until it is lifted. */
  readonly mutedUntil: Date | null;
}

interface GroupRow {
  readonly name: string;
  readonly avatar: Buffer;
  readonly intro: string;
  readonly owner_id: string;
  readonly state: number;
  readonly mute_all: number;
  readonly join_approval: number;
  readonly member_invite: number;
  readonly version: string;
  readonly member_version: string;
  readonly member_count: string;
  readonly created_at: Date;
  readonly updated_at: Date;
}

interface MemberRow {
  readonly user_id: string;
  readonly name: string;
  readonly display_name: string;
  readonly role: number;
  readonly joined_at: Date;
  readonly mute_of: string | null;
  readonly expires_at: Date | null;
}

const CREATE_CONVERSATION = 'INSERT INTO t_conversations (id, type, last_msg_at, last_change_at, created_at) VALUES (?, ?, ?, ?, ?)';
const CREATE_GROUP = 'INSERT INTO t_groups (conversation_id, name, owner_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?)';
const ADD_MEMBERS = 'INSERT INTO t_conversation_members (conversation_id, user_id, role, joined_at) VALUES ?';
const ADD_INTERVALS = 'INSERT INTO t_member_intervals (conversation_id, user_id, join_change_id) VALUES ?';
const FIND = `
  SELECT g.name, g.avatar, g.intro, g.owner_id, g.state, g.mute_all, g.join_approval, g.member_invite, g.version, c.member_version,
         (SELECT COUNT(*) FROM t_conversation_members m WHERE m.conversation_id = g.conversation_id AND m.present = 1) AS member_count,
         g.created_at, g.updated_at
    FROM t_groups g JOIN t_conversations c ON c.id = g.conversation_id
   WHERE g.conversation_id = ?`;
const ROLE = 'SELECT role FROM t_conversation_members WHERE conversation_id = ? AND user_id = ? AND present = 1';
const MEMBERS = `
  SELECT m.user_id, u.name, u.display_name, m.role, m.joined_at, x.user_id AS mute_of, x.expires_at
    FROM t_conversation_members m
    JOIN t_users u ON u.id = m.user_id
    LEFT JOIN im_group_mutes x
           ON x.conversation_id = m.conversation_id AND x.user_id = m.user_id AND (x.expires_at IS NULL OR x.expires_at > ?)
   WHERE m.conversation_id = ? AND m.present = 1 AND m.user_id > ?`;

export async function insertGroup(tx: Tx, group: { conversationId: bigint; name: string; ownerId: bigint }): Promise<void> {
  const now = new Date();
  await tx.change(CREATE_CONVERSATION, [group.conversationId, CONVERSATION_TYPES.GROUP, now, now, now]);
  await tx.change(CREATE_GROUP, [group.conversationId, group.name, group.ownerId, now, now]);
}

/** Adds members who join with one change. */
export async function insertMembers(
  tx: Tx,
  { conversationId, changeId }: { conversationId: bigint; changeId: bigint },
  members: readonly { readonly userId: bigint; readonly role: number }[],
): Promise<void> {
  const now = new Date();
  await tx.change(ADD_MEMBERS, [members.map(({ userId, role }) => [conversationId, userId, role, now])]);
  await tx.change(ADD_INTERVALS, [members.map(({ userId }) => [conversationId, userId, changeId])]);
}

export async function findGroup(db: Queryable, conversationId: bigint): Promise<Group | undefined> {
  const [row] = await db.select<GroupRow>(FIND, [conversationId]);
  if (row === undefined) return undefined;
  return {
    conversationId,
    name: row.name,
    avatar: row.avatar.toString(),
    intro: row.intro,
    ownerId: BigInt(row.owner_id),
    state: row.state,
    muteAll: row.mute_all === 1,
    joinApproval: row.join_approval === 1,
    memberInvite: row.member_invite === 1,
    version: Number(row.version),
    memberVersion: BigInt(row.member_version),
    memberCount: Number(row.member_count),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** The role of a present member, undefined for anybody else. */
export async function findRole(db: Queryable, conversationId: bigint, userId: bigint): Promise<number | undefined> {
  const [row] = await db.select<{ role: number }>(ROLE, [conversationId, userId]);
  return row?.role;
}

export interface MemberFilter {
  /** Ids above this one. */
  readonly after: bigint;
  readonly limit: number;
  /** Only these roles. */
  readonly roles?: readonly number[];
  /** Beginning of the name, of the display name, or of the decimal id, which may carry `usr` in front. */
  readonly prefix?: string;
}

/** Present members in order of id. */
export async function listMembers(db: Queryable, conversationId: bigint, filter: MemberFilter): Promise<readonly GroupMember[]> {
  const { after, limit, roles, prefix } = filter;
  const byRole = roles === undefined ? '' : ' AND m.role IN (?)';
  const byText = prefix === undefined ? '' : ' AND (u.name LIKE ? OR u.display_name LIKE ? OR CAST(m.user_id AS CHAR) LIKE ?)';
  const texts = prefix === undefined ? [] : [prefix, prefix, prefix.replace(/^usr(?=[0-9])/, '')].map(startingWith);
  const rows = await db.select<MemberRow>(`${MEMBERS}${byRole}${byText} ORDER BY m.user_id LIMIT ?`, [
    new Date(),
    conversationId,
    after,
    ...(roles === undefined ? [] : [roles]),
    ...texts,
    limit,
  ]);
  return rows.map(toMember);
}

/** A LIKE pattern in which the text stands for itself. */
function startingWith(text: string): string {
  return `${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
}

function toMember(row: MemberRow): GroupMember {
  return {
    userId: BigInt(row.user_id),
    name: row.name,
    displayName: row.display_name,
    role: row.role,
    joinedAt: row.joined_at,
    isMuted: row.mute_of !== null,
    mutedUntil: row.expires_at,
  };
}
