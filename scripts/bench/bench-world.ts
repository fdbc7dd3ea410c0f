import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '#shared/platform/clock/clock.ts';
import { SignedTokens } from '#shared/platform/login/signed-token.ts';
import type { Database, MysqlLogin } from '#shared/platform/mysql/database.ts';
import { openDatabase } from '#shared/platform/mysql/mysql-database.ts';
import { ensureP2p } from '#shared/tenant/conversation/p2p-conversation.ts';
import { FRIEND_STATES, setFriendRows } from '#shared/tenant/friend/friend-store.ts';
import { issueAccessToken } from '#shared/tenant/user/authenticate.ts';
import { findStanding, insertUser, touchDevice } from '#shared/tenant/user/user-store.ts';
import type { Seat } from './load-client.ts';

/** Long enough for any run. */
const TOKEN_MS = 12 * 3_600_000;
/** As long as the ids that the appliance gives, and below all of them, so that none is given twice. */
const FIRST_ID = 100_000_000_000_000_000n;

/**
 * Pairs of friends in a tenant's database, each with one device and their conversation. Written straight into the tables: a password of
 * each user, as registering wants it, would take longer than everything that is measured.
 *
 * @returns two seats a pair, one after the other
 */
export async function makeFriends(db: Database, tokens: SignedTokens, tenant: string, pairs: number): Promise<readonly Seat[]> {
  const ids = counter();
  const seats: Seat[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const [one, other] = [ids.next(), ids.next()];
    const conversationId = await db.transaction(async (tx) => {
      for (const userId of [one, other]) {
        const name = `bench-${userId.toString()}`;
        await insertUser(tx, { userId, name, displayName: name, passwordHash: '' });
        await touchDevice(tx, { userId, deviceId: userId, platform: 'bench' });
      }
      await setFriendRows(tx, [[one, other], [other, one]], FRIEND_STATES.FRIENDS); // prettier-ignore
      return ensureP2p({ ids }, tx, one, other);
    });
    for (const userId of [one, other]) {
      const standing = await findStanding(db, userId, userId);
      if (standing === undefined) throw new Error('a user of the bench is not there');
      const { token } = await issueAccessToken(tokens, { tenant, userId, deviceId: userId, ...standing });
      seats.push({ userId, deviceId: userId, conversationId, token });
    }
  }
  return seats;
}

/** The same for the appliance of this home. */
export async function seatTenant(home: string, tenant: string, pairs: number): Promise<readonly Seat[]> {
  const key = Buffer.from((await readFile(join(home, 'state/auth/token_key'), 'utf8')).trim(), 'base64url');
  const tokens = new SignedTokens({ key, audience: 'im-client', ttlMs: TOKEN_MS, clock: systemClock });
  const db = openDatabase(await administrator(home), `im_${tenant}`, { poolSize: 1 });
  try {
    return await makeFriends(db, tokens, tenant, pairs);
  } finally {
    await db.close();
  }
}

/** The login of migrate, which may do everything. */
export async function administrator(home: string): Promise<MysqlLogin> {
  const password = (await readFile(join(home, 'state/mysql/migrate'), 'utf8')).trim();
  return { address: `unix:${join(home, 'run/mysql.sock')}`, user: 'migrate', password };
}

function counter(): { next(): bigint } {
  let last = FIRST_ID;
  return { next: () => (last += 1n) };
}
