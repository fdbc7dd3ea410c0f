import { openConnection } from '#shared/platform/mysql/connection.ts';
import type { Queryable } from '#shared/platform/mysql/database.ts';
import { mysqlErrorNumber } from '#shared/platform/mysql/database.ts';
import { readPassword } from './config.ts';
import type { ServiceUser } from './config.ts';
import { account } from './grants.ts';

const ACCESS_DENIED = 1045;

/** Makes sure that each service can log in with the password of its file. A user whose password is right is not touched. */
export async function ensureUsers(connection: Queryable, address: string, users: readonly ServiceUser[]): Promise<void> {
  for (const user of users) {
    const password = await readPassword(user.password_file);
    await connection.change(`CREATE USER IF NOT EXISTS ${account(user.name)} IDENTIFIED WITH caching_sha2_password BY ?`, [password]);
    if (!(await canLogIn(address, user.name, password))) {
      await connection.change(`ALTER USER ${account(user.name)} IDENTIFIED WITH caching_sha2_password BY ?`, [password]);
    }
  }
}

async function canLogIn(address: string, user: string, password: string): Promise<boolean> {
  try {
    await (await openConnection({ address, user, password })).close();
    return true;
  } catch (error) {
    if (mysqlErrorNumber(error) === ACCESS_DENIED) return false;
    throw error;
  }
}
