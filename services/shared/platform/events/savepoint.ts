import type { Changed, Params, Tx } from '../mysql/database.ts';

/**
 * Runs `work` so that it can be undone without losing the transaction around it: when it throws, its changes and what it wanted to do
 * after the commit are gone, and the error comes out. Not for sequelize models. One at a time in a transaction.
 */
export async function withSavepoint<T>(tx: Tx, work: (inner: Tx) => Promise<T>): Promise<T> {
  const callbacks: (() => void)[] = [];
  await tx.change('SAVEPOINT undoable');
  try {
    const result = await work(new InnerTx(tx, callbacks));
    for (const run of callbacks) tx.afterCommit(run);
    return result;
  } catch (error) {
    // After a deadlock MySQL has already undone everything, the savepoint included; then this fails and the first error tells why.
    await tx.change('ROLLBACK TO SAVEPOINT undoable').catch(() => undefined);
    throw error;
  }
}

class InnerTx implements Tx {
  readonly database: string;
  readonly #outer: Tx;
  readonly #callbacks: (() => void)[];

  constructor(outer: Tx, callbacks: (() => void)[]) {
    this.database = outer.database;
    this.#outer = outer;
    this.#callbacks = callbacks;
  }

  select<Row extends object>(sql: string, params?: Params): Promise<readonly Row[]> {
    return this.#outer.select<Row>(sql, params);
  }

  change(sql: string, params?: Params): Promise<Changed> {
    return this.#outer.change(sql, params);
  }

  afterCommit(run: () => void): void {
    this.#callbacks.push(run);
  }
}
