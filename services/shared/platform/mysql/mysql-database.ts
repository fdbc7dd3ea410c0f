import { createPool } from 'mysql2/promise';
import type { Pool, PoolConnection, PoolOptions, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { isLockConflict } from './database.ts';
import type { Changed, Database, MysqlLogin, Params, TransactionOptions, Tx } from './database.ts';

/** What every session of ours says first. The lock wait stays below the 60 s that the sweeper calls "longest transaction". */
export const SESSION = `SET time_zone='+00:00', transaction_isolation='READ-COMMITTED', innodb_lock_wait_timeout=5, lock_wait_timeout=10`;

export interface PoolSettings {
  /** Connections at most. Waiting callers queue. Default 10. */
  readonly poolSize?: number;
}

/** Driver options that keep 64-bit ids exact and times in UTC. @see MSG-01 */
export function driverOptions({ address, user, password }: MysqlLogin): PoolOptions {
  return {
    ...addressOptions(address),
    user,
    password,
    charset: 'utf8mb4',
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true,
    stringifyObjects: true,
    flags: ['-FOUND_ROWS'],
    connectTimeout: 5_000,
    enableKeepAlive: true,
  };
}

function addressOptions(address: string): PoolOptions {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) };
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** Opens a pool of mysql2 connections on one database. Connects when first used. */
export function openDatabase(login: MysqlLogin, name: string, settings: PoolSettings = {}): Database {
  const pool = createPool({
    ...driverOptions(login),
    database: name,
    connectionLimit: settings.poolSize ?? 10,
    maxIdle: settings.poolSize ?? 10,
  });
  pool.on('connection', (connection) => {
    // Queued before any statement of the borrower; a failure shows in that statement.
    (connection as unknown as { query(sql: string, done: () => void): void }).query(SESSION, () => undefined);
  });
  return new MysqlDatabase(pool, name);
}

class MysqlDatabase implements Database {
  readonly name: string;
  readonly #pool: Pool;

  constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.name = name;
  }

  async select<Row extends object>(sql: string, params: Params = []): Promise<readonly Row[]> {
    return selectOn<Row>(this.#pool, sql, params);
  }

  async change(sql: string, params: Params = []): Promise<Changed> {
    return changeOn(this.#pool, sql, params);
  }

  async transaction<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions = {}): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(work, options);
      } catch (error) {
        if (!isLockConflict(error) || attempt >= (options.retries ?? 3)) throw error;
      }
    }
  }

  async #once<T>(work: (tx: Tx) => Promise<T>, options: TransactionOptions): Promise<T> {
    const callbacks: (() => void)[] = [];
    const result = await this.#commit(work, options, callbacks);
    runAll(callbacks); // only now: what fails here must not touch a connection that is somebody else's already
    return result;
  }

  async #commit<T>(work: (tx: Tx) => Promise<T>, { snapshot }: TransactionOptions, callbacks: (() => void)[]): Promise<T> {
    const connection = await this.#pool.getConnection();
    try {
      if (snapshot === true) await connection.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await connection.query(snapshot === true ? 'START TRANSACTION WITH CONSISTENT SNAPSHOT' : 'BEGIN');
      const result = await work(new MysqlTx(connection, this.name, callbacks));
      await connection.query('COMMIT');
      connection.release();
      return result;
    } catch (error) {
      await rollback(connection);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

class MysqlTx implements Tx {
  readonly database: string;
  readonly #connection: PoolConnection;
  readonly #callbacks: (() => void)[];

  constructor(connection: PoolConnection, database: string, callbacks: (() => void)[]) {
    this.#connection = connection;
    this.database = database;
    this.#callbacks = callbacks;
  }

  async select<Row extends object>(sql: string, params: Params = []): Promise<readonly Row[]> {
    return selectOn<Row>(this.#connection, sql, params);
  }

  async change(sql: string, params: Params = []): Promise<Changed> {
    return changeOn(this.#connection, sql, params);
  }

  afterCommit(run: () => void): void {
    this.#callbacks.push(run);
  }
}

async function selectOn<Row extends object>(on: Pool | PoolConnection, sql: string, params: Params): Promise<readonly Row[]> {
  const [rows] = await on.query<RowDataPacket[]>(sql, params as unknown[]);
  return rows as unknown as readonly Row[];
}

async function changeOn(on: Pool | PoolConnection, sql: string, params: Params): Promise<Changed> {
  const [header] = await on.query<ResultSetHeader>(sql, params as unknown[]);
  return { rows: header.affectedRows, insertId: BigInt(header.insertId) };
}

/** A connection whose rollback failed is in an unknown state: it is thrown away, which rolls back as well. */
async function rollback(connection: PoolConnection): Promise<void> {
  try {
    await connection.query('ROLLBACK');
    connection.release();
  } catch {
    connection.destroy();
  }
}

export function runAll(callbacks: readonly (() => void)[]): void {
  for (const run of callbacks) run();
}
