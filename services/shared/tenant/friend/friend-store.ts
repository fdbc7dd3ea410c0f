import type { Queryable, Tx } from '#shared/platform/mysql/database.ts';

export const FRIEND_STATES = { ASKED: 1, FRIENDS: 2 } as const;

/** What the two rows of a pair say, seen from `one`. */
export interface Pair {
  /** State of the row one -> other, undefined = none. */
  readonly forth: number | undefined;
  readonly back: number | undefined;
}

export interface FriendEntry {
  readonly userId: bigint;
  readonly name: string;
  readonly displayName: string;
  readonly remark: string;
  /** `incoming`: he asked me; `requested`: I asked him. */
  readonly state: 'friend' | 'requested' | 'incoming';
}

const LOCK_PAIR = `
  SELECT user_id, state FROM t_friends WHERE (user_id = ? AND friend_id = ?) OR (user_id = ? AND friend_id = ?)
   ORDER BY user_id FOR UPDATE`;
const SET = `
  INSERT INTO t_friends (user_id, friend_id, state, created_at, updated_at) VALUES ? AS given
  ON DUPLICATE KEY UPDATE state = given.state, updated_at = given.updated_at`;
const BLOCKED = 'SELECT 1 AS found FROM t_blacklist WHERE user_id = ? AND blocked_id = ?';
// Friends have two rows; a request that nobody answered has one, which the other side sees through idx_friend.
const LIST = `
  SELECT u.id, u.name, u.display_name, f.remark, f.state, f.outgoing
    FROM (SELECT friend_id AS other_id, remark, state, 1 AS outgoing FROM t_friends WHERE user_id = ? AND friend_id > ?
          UNION ALL
          SELECT user_id, '', state, 0 FROM t_friends WHERE friend_id = ? AND state = 1 AND user_id > ?) f
    JOIN t_users u ON u.id = f.other_id AND u.state <> 3
   ORDER BY u.id, f.outgoing DESC LIMIT ?`;

/** Locks what the pair has; where it has nothing, the unique key decides later. */
export async function lockPair(tx: Tx, one: bigint, other: bigint): Promise<Pair> {
  const rows = await tx.select<{ user_id: string; state: number }>(LOCK_PAIR, [one, other, other, one]);
  const stateOf = (user: bigint): number | undefined => rows.find((row) => BigInt(row.user_id) === user)?.state;
  return { forth: stateOf(one), back: stateOf(other) };
}

export async function setFriendRows(tx: Tx, rows: readonly (readonly [user: bigint, friend: bigint])[], state: number): Promise<void> {
  const now = new Date();
  await tx.change(SET, [rows.map(([user, friend]) => [user, friend, state, now, now])]);
}

export async function isBlocked(tx: Queryable, by: bigint, blocked: bigint): Promise<boolean> {
  return (await tx.select(BLOCKED, [by, blocked])).length > 0;
}

/** Friends and open requests of a user in order of the other's id, from after `after`. */
export async function listFriends(db: Queryable, userId: bigint, after: bigint, limit: number): Promise<readonly FriendEntry[]> {
  const rows = await db.select<{ id: string; name: string; display_name: string; remark: string; state: number; outgoing: string }>(LIST, [
    userId,
    after,
    userId,
    after,
    limit,
  ]);
  return rows.map((row) => ({
    userId: BigInt(row.id),
    name: row.name,
    displayName: row.display_name,
    remark: row.remark,
    state: stateWord(row.state, row.outgoing === '1'),
  }));
}

function stateWord(state: number, isOutgoing: boolean): FriendEntry['state'] {
  if (state === FRIEND_STATES.FRIENDS) return 'friend';
  return isOutgoing ? 'requested' : 'incoming';
}
