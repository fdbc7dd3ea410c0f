import { createConnection } from 'mysql2/promise';
import type { ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import type { Changed, MysqlLogin, Params, Queryable } from './database.ts';
import { driverOptions, SESSION } from './mysql-database.ts';

/** One session of its own, for what is bound to a session: named locks, session variables, statements that choose their own transaction. */
export interface Connection extends Queryable {
  /** Commits what `work` did on this connection, or rolls it back. DDL inside commits by itself. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Connects at once, with or without a default database. @throws the driver's error when the server or the login refuses */
export async function openConnection(login: MysqlLogin, database?: string): Promise<Connection> {
  const driver = await createConnection({ ...driverOptions(login), ...(database === undefined ? {} : { database }) });
  // A connection that is lost while idle fails its next statement; without a listener the event would end the process.
  (driver as unknown as { on(event: 'error', listener: () => void): void }).on('error', () => undefined);
  await driver.query(SESSION);
  const select = async <Row extends object>(sql: string, params: Params = []): Promise<readonly Row[]> => {
    const [rows] = await driver.query<RowDataPacket[]>(sql, params as unknown[]);
    return rows as unknown as readonly Row[];
  };
  const change = async (sql: string, params: Params = []): Promise<Changed> => {
    const [header] = await driver.query<ResultSetHeader>(sql, params as unknown[]);
    return { rows: header.affectedRows, insertId: BigInt(header.insertId) };
  };
  return {
    select,
    change,
    transaction: async (work) => {
      await driver.query('BEGIN');
      try {
        const result = await work();
        await driver.query('COMMIT');
        return result;
      } catch (error) {
        await driver.query('ROLLBACK').catch(() => undefined); // a lost connection has rolled back already
        throw error;
      }
    },
    close: async () => {
      await driver.end().catch(() => {
        driver.destroy();
      });
    },
  };
}
