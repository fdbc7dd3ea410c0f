import { createHash } from 'node:crypto';
import type { Connection } from '#shared/platform/mysql/connection.ts';
import { MigrationError } from './migration-error.ts';

/**
 * Runs `work` while no other session of the server does work of the same name. The server frees the lock when this session ends, but a
 * holder that dies during a statement keeps it until that statement is over and its effect stays: read the schema inside `work` only.
 */
export async function withNamedLock<T>(connection: Connection, name: string, waitSeconds: number, work: () => Promise<T>): Promise<T> {
  // 64 characters at most, and compared without regard to case.
  const lock = `ima:${createHash('sha256').update(name.toLowerCase()).digest('hex').slice(0, 32)}`;
  const [row] = await connection.select<{ held: string | null }>('SELECT CAST(GET_LOCK(?, ?) AS CHAR) AS held', [lock, waitSeconds]);
  if (row?.held !== '1')
    throw new MigrationError(`another migration of ${name} still runs after ${waitSeconds} s; wait for it and start again`);
  try {
    return await work();
  } finally {
    await connection.select('SELECT RELEASE_LOCK(?) AS released', [lock]).catch(() => undefined); // a lost session has released it
  }
}
