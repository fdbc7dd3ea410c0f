import { createConnection, format } from 'mysql2/promise';
import type { Connection } from 'mysql2/promise';
import { driverOptions, SESSION } from './mysql-database.ts';
import type { MysqlLogin, Params } from './database.ts';

export interface Statement {
  readonly sql: string;
  readonly params: Params;
}

/** Rows of a SELECT, or nothing that we read of a write. */
export type LaneRows = readonly Readonly<Record<string, unknown>>[];

/** A packet that got no answer for so long is given up with its connection (ms): no transaction of a lane lasts longer than the sweeper assumes. */
const PACKET_TIMEOUT_MS = 20_000;

/**
 * One connection that runs several statements per network packet, for the batches of the hot path. Every value is escaped by the driver,
 * bytes as hex; no text of a client is ever part of a statement.
 */
export class Lane {
  readonly #login: MysqlLogin;
  readonly #database: string;
  readonly #timeoutMs: number;
  #connection: Promise<Connection> | undefined;

  constructor(login: MysqlLogin, database: string, timeoutMs = PACKET_TIMEOUT_MS) {
    this.#login = login;
    this.#database = database;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Runs the statements in order, stopping at the first that fails; what came before it stays done, so after an error call `rollback` first.
   *
   * @returns one entry a statement
   */
  async packet(statements: readonly Statement[]): Promise<readonly LaneRows[]> {
    return this.#run(await this.#open(), statements);
  }

  /**
   * Runs more statements of the transaction that the packet before began, on its connection and on no other.
   *
   * @throws when that connection was lost; MySQL has rolled back then
   */
  async more(statements: readonly Statement[]): Promise<readonly LaneRows[]> {
    if (this.#connection === undefined) throw new Error('the connection of the transaction was lost');
    return this.#run(await this.#connection, statements);
  }

  async #run(connection: Connection, statements: readonly Statement[]): Promise<readonly LaneRows[]> {
    const text = statements.map(({ sql, params }) => format(sql, params as Parameters<typeof format>[1], true, 'Z')).join(';');
    const [results] = await this.#withDeadline(connection, connection.query(text));
    return (statements.length === 1 ? [results] : results) as unknown as readonly LaneRows[];
  }

  /** Ends whatever is open. A connection on which even that fails is dropped, which rolls back as well. */
  async rollback(): Promise<void> {
    const opened = this.#connection;
    if (opened === undefined) return;
    try {
      const connection = await opened;
      await this.#withDeadline(connection, connection.query('ROLLBACK'));
    } catch {
      this.#drop(opened);
    }
  }

  async close(): Promise<void> {
    const opened = this.#connection;
    this.#connection = undefined;
    if (opened !== undefined) await (await opened).end().catch(() => undefined);
  }

  /** MySQL that hangs must not hang us: its connection is dropped, what became of the statements is then unknown. */
  async #withDeadline<T>(connection: Connection, answer: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      connection.destroy();
      this.#connection = undefined;
      late.reject(new Error(`MySQL gave no answer within ${String(this.#timeoutMs)} ms`));
    }, this.#timeoutMs);
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      clearTimeout(timer);
      answer.catch(() => undefined); // the late answer of a connection that was given up
    }
  }

  #open(): Promise<Connection> {
    if (this.#connection === undefined) {
      const opened = this.#connect(() => this.#forget(opened));
      this.#connection = opened;
      opened.catch(() => {
        this.#forget(opened);
      });
    }
    return this.#connection;
  }

  async #connect(onLost: () => void): Promise<Connection> {
    const connection = await createConnection({ ...driverOptions(this.#login), database: this.#database, multipleStatements: true });
    // Without a listener a lost connection would end the process; the packet that needed it reports the loss.
    connection.on('error', onLost);
    await this.#withDeadline(connection, connection.query(`${SESSION}, innodb_lock_wait_timeout=2`));
    return connection;
  }

  /** The next packet opens a new connection, unless it has one already. */
  #forget(opened: Promise<Connection>): void {
    if (this.#connection === opened) this.#connection = undefined;
  }

  #drop(opened: Promise<Connection>): void {
    this.#forget(opened);
    opened.then(
      (connection) => {
        connection.destroy();
      },
      () => undefined,
    );
  }
}
