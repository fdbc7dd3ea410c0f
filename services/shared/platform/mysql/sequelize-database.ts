import { QueryTypes, Sequelize, Transaction } from 'sequelize';
import { isLockConflict } from './database.ts';
import type { Changed, Database, MysqlLogin, Param, Params, TransactionOptions, Tx } from './database.ts';
import { driverOptions, runAll, SESSION } from './mysql-database.ts';
import type { PoolSettings } from './mysql-database.ts';

/** A database handle over sequelize's pool: the same statements, and models beside them in the same transaction. */
export interface ModelDatabase extends Database {
  readonly sequelize: Sequelize;
}

/** Sequelize's transaction behind `tx`, for a model call inside it. */
export function modelTransaction(tx: Tx): Transaction {
  if (tx instanceof SequelizeTx) return tx.transaction;
  throw new Error('this transaction was not opened by sequelize');
}

/** Opens the database of the back office with models on it. */
export function openModelDatabase(login: MysqlLogin, name: string, settings: PoolSettings = {}): ModelDatabase {
  const { host, port, ...dialectOptions } = driverOptions(login);
  delete dialectOptions.timezone; // sequelize sets it itself
  const sequelize = new Sequelize(name, login.user, login.password, {
    dialect: 'mysql',
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    dialectOptions,
    timezone: '+00:00',
    isolationLevel: Transaction.ISOLATION_LEVELS.READ_COMMITTED,
    logging: false,
    define: { timestamps: false, freezeTableName: true },
    pool: { max: settings.poolSize ?? 10, min: 0, acquire: 10_000 },
    hooks: {
      afterConnect: (connection) =>
        new Promise<void>((resolve, reject) => {
          (connection as { query(sql: string, done: (error: Error | null) => void): void }).query(SESSION, (error) => {
            if (error === null) resolve();
            else reject(error);
          });
        }),
    },
  });
  return new SequelizeDatabase(sequelize, name);
}

class SequelizeDatabase implements ModelDatabase {
  readonly name: string;
  readonly sequelize: Sequelize;

  constructor(sequelize: Sequelize, name: string) {
    this.sequelize = sequelize;
    this.name = name;
  }

  async select<Row extends object>(sql: string, params: Params = []): Promise<readonly Row[]> {
    return selectOn<Row>(this.sequelize, sql, params, null);
  }

  async change(sql: string, params: Params = []): Promise<Changed> {
    return changeOn(this.sequelize, sql, params, null);
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

  async #once<T>(work: (tx: Tx) => Promise<T>, { snapshot }: TransactionOptions): Promise<T> {
    const { REPEATABLE_READ, READ_COMMITTED } = Transaction.ISOLATION_LEVELS;
    const callbacks: (() => void)[] = [];
    const result = await this.sequelize.transaction(
      { isolationLevel: snapshot === true ? REPEATABLE_READ : READ_COMMITTED },
      (transaction) => work(new SequelizeTx(this.sequelize, transaction, this.name, callbacks)),
    );
    runAll(callbacks);
    return result;
  }

  async close(): Promise<void> {
    await this.sequelize.close();
  }
}

class SequelizeTx implements Tx {
  readonly database: string;
  readonly transaction: Transaction;
  readonly #sequelize: Sequelize;
  readonly #callbacks: (() => void)[];

  constructor(sequelize: Sequelize, transaction: Transaction, database: string, callbacks: (() => void)[]) {
    this.#sequelize = sequelize;
    this.transaction = transaction;
    this.database = database;
    this.#callbacks = callbacks;
  }

  async select<Row extends object>(sql: string, params: Params = []): Promise<readonly Row[]> {
    return selectOn<Row>(this.#sequelize, sql, params, this.transaction);
  }

  async change(sql: string, params: Params = []): Promise<Changed> {
    return changeOn(this.#sequelize, sql, params, this.transaction);
  }

  afterCommit(run: () => void): void {
    this.#callbacks.push(run);
  }
}

async function selectOn<Row extends object>(
  sequelize: Sequelize,
  sql: string,
  params: Params,
  transaction: Transaction | null,
): Promise<readonly Row[]> {
  return sequelize.query<Row>(sql, { replacements: replacements(params), transaction, type: QueryTypes.SELECT });
}

async function changeOn(sequelize: Sequelize, sql: string, params: Params, transaction: Transaction | null): Promise<Changed> {
  const answer = await sequelize.query(sql, { replacements: replacements(params), transaction, type: QueryTypes.RAW });
  // Sequelize knows an INSERT by its text and then answers [id, rows] in place of the driver's header.
  const [first, second] = answer as unknown as [string | number | InsertHeader, number];
  if (typeof first === 'object') return { rows: first.affectedRows, insertId: BigInt(first.insertId) };
  return { rows: second, insertId: BigInt(first) };
}

interface InsertHeader {
  readonly affectedRows: number;
  readonly insertId: string | number;
}

/** Times as text: sequelize would otherwise drop the milliseconds of a replacement. */
function replacements(params: Params): unknown[] {
  return params.map((param) => (Array.isArray(param) ? replacements(param as Params) : scalar(param as Param)));
}

function scalar(param: Param): unknown {
  return param instanceof Date ? param.toISOString().replace('T', ' ').replace('Z', '') : param;
}
