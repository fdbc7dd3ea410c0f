/**
 * One shape for every database handle. Ids come back as decimal strings, times as Date in UTC, bytes as Buffer.
 * Sessions are READ COMMITTED, UTC, strict, and report changed rows (an update to the same value counts 0).
 */
export type Param = string | number | bigint | boolean | Buffer | Date | null;
/** An array stands for the list of an `IN (?)`; an array of arrays for the rows of `VALUES ?`. It must not be empty. */
export type Params = readonly (Param | readonly Param[] | readonly (readonly Param[])[])[];

export interface Changed {
  /** Rows changed; for INSERT ... ON DUPLICATE KEY UPDATE 1 = inserted, 2 = changed, 0 = as it was. */
  readonly rows: number;
  readonly insertId: bigint;
}

export interface Queryable {
  select<Row extends object>(sql: string, params?: Params): Promise<readonly Row[]>;
  change(sql: string, params?: Params): Promise<Changed>;
}

/** A value that exists only inside a transaction, so that "must run in one" is a type. */
export interface Tx extends Queryable {
  readonly database: string;
  /** Runs after COMMIT was confirmed, never after a rollback. For wake-ups; what it does may be lost in a crash. */
  afterCommit(run: () => void): void;
}

export interface TransactionOptions {
  /** REPEATABLE READ with a consistent snapshot, for reads that must agree with each other. */
  readonly snapshot?: boolean;
  /** How often the whole callback is run again after a deadlock or lock timeout (1213, 1205). Default 3. */
  readonly retries?: number;
}

export interface Database extends Queryable {
  readonly name: string;
  /** Commits when `work` resolves, rolls back when it throws. No network call belongs inside. */
  transaction<T>(work: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T>;
  close(): Promise<void>;
}

/** Where a server is: `unix:/path` or `host:port`. */
export interface MysqlLogin {
  readonly address: string;
  readonly user: string;
  readonly password: string;
}

/** MySQL's own error number, wherever the driver or sequelize put it. */
export function mysqlErrorNumber(error: unknown): number | undefined {
  for (
    let cause: unknown = error, depth = 0;
    cause instanceof Error && depth < 5;
    cause = cause.cause ?? (cause as { parent?: unknown }).parent, depth += 1
  ) {
    const { errno } = cause as { errno?: unknown };
    if (typeof errno === 'number' && errno > 1000) return errno;
  }
  return undefined;
}

export const ER = { DUP_ENTRY: 1062, LOCK_WAIT_TIMEOUT: 1205, LOCK_DEADLOCK: 1213 } as const;

/** Deadlock or lock timeout: the same transaction may succeed when it is run again from its beginning. */
export function isLockConflict(error: unknown): boolean {
  const number = mysqlErrorNumber(error);
  return number === ER.LOCK_DEADLOCK || number === ER.LOCK_WAIT_TIMEOUT;
}

export function isDuplicateKey(error: unknown): boolean {
  return mysqlErrorNumber(error) === ER.DUP_ENTRY;
}

/** Asks again for a condition MySQL calls a refused statement: data too long, out of range, bad reference. The request is at fault. */
export function isDataError(error: unknown): boolean {
  const number = mysqlErrorNumber(error);
  return number !== undefined && [1264, 1292, 1366, 1406, 3140, 3988].includes(number);
}
