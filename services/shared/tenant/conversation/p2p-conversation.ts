import { CONVERSATION_TYPES, MEMBER_ROLES } from '#shared/contract/commands.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Tx } from '#shared/platform/mysql/database.ts';

const FIND = 'SELECT conversation_id FROM t_p2p_conversations WHERE user_small = ? AND user_big = ?';
// The unique pair decides who creates; the loser reads what the winner committed.
const CLAIM = 'INSERT IGNORE INTO t_p2p_conversations (user_small, user_big, conversation_id) VALUES (?, ?, ?)';
const CREATE = `
  INSERT INTO t_conversations (id, type, last_msg_at, last_change_at, created_at) VALUES (?, ?, ?, ?, ?)`;
const JOIN = 'INSERT INTO t_conversation_members (conversation_id, user_id, role, joined_at) VALUES ?';
// Both were members before the first change there can be.
const INTERVAL = 'INSERT INTO t_member_intervals (conversation_id, user_id, join_change_id) VALUES ?';
const USERS = 'SELECT id FROM t_users WHERE id IN (?) AND state <> 3';

/**
 * The one conversation of two users, made when it is asked for the first time, by whomever (MSG-49).
 *
 * @throws {Refusal} INVALID_ARGUMENT (with oneself) | RESOURCE_NOT_FOUND (a user does not exist)
 */
export async function ensureP2p({ ids }: { ids: IdGenerator }, tx: Tx, one: bigint, other: bigint): Promise<bigint> {
  if (one === other) throw new Refusal('INVALID_ARGUMENT', 'a conversation needs two different users');
  const [small, big] = one < other ? [one, other] : [other, one];
  const found = await find(tx, small, big);
  if (found !== undefined) return found;
  const users = await tx.select<{ id: string }>(USERS, [[small, big]]);
  if (users.length < 2) throw new Refusal('RESOURCE_NOT_FOUND', 'no such user');
  const id = ids.next();
  const { rows } = await tx.change(CLAIM, [small, big, id]);
  if (rows === 0) return (await find(tx, small, big)) ?? id;
  await create(tx, id, [small, big]);
  return id;
}

/** The conversation of two users if there is one. */
export async function findP2p(tx: Pick<Tx, 'select'>, one: bigint, other: bigint): Promise<bigint | undefined> {
  return one < other ? find(tx, one, other) : find(tx, other, one);
}

async function find(tx: Pick<Tx, 'select'>, small: bigint, big: bigint): Promise<bigint | undefined> {
  const [row] = await tx.select<{ conversation_id: string }>(FIND, [small, big]);
  return row === undefined ? undefined : BigInt(row.conversation_id);
}

async function create(tx: Tx, id: bigint, users: readonly bigint[]): Promise<void> {
  const now = new Date();
  await tx.change(CREATE, [id, CONVERSATION_TYPES.P2P, now, now, now]);
  await tx.change(JOIN, [users.map((user) => [id, user, MEMBER_ROLES.MEMBER, now])]);
  await tx.change(INTERVAL, [users.map((user) => [id, user, 0n])]);
}
