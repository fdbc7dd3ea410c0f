import type { CommandResult } from '#shared/contract/envelope.ts';
import type { Tx } from '../mysql/database.ts';

/** The outcome of an executed command, kept for whoever asks again. */
export interface Outcome {
  readonly status: 'succeeded' | 'failed';
  readonly reason: string;
  readonly message: string;
  readonly result: CommandResult['result'];
}

export interface KnownOperation {
  readonly fingerprint: Buffer;
  readonly outcome: Outcome;
}

const MAX_MESSAGE = 500;

/** Executed commands by their id. @see X-12 @see CMD-17 */
export class Operations {
  readonly #table: string;

  /** @param table with the columns of im_kafka_operations */
  constructor(table: string) {
    this.#table = table;
  }

  /**
   * Takes the command's id for this transaction; another transaction with the same id waits for our end. Must be followed by `finish`.
   * @returns the operation that has the id already
   */
  async claim(
    tx: Tx,
    { commandId, fingerprint, eventId }: { commandId: string; fingerprint: Buffer; eventId: string },
  ): Promise<KnownOperation | undefined> {
    const { rows } = await tx.change(
      `INSERT INTO ${this.#table} (command_id, fingerprint, event_id, status, result, created_at) VALUES (?, ?, ?, 'failed', '{}', NOW(3))
       ON DUPLICATE KEY UPDATE command_id = VALUES(command_id)`,
      [commandId, fingerprint, eventId],
    );
    return rows === 1 ? undefined : this.find(tx, commandId);
  }

  async find(tx: Tx, commandId: string): Promise<KnownOperation | undefined> {
    const [row] = await tx.select<{ fingerprint: Buffer; status: 'succeeded' | 'failed'; reason: Buffer; message: string; result: Buffer }>(
      `SELECT fingerprint, status, reason, message, result FROM ${this.#table} WHERE command_id = ?`,
      [commandId],
    );
    if (row === undefined) return undefined;
    const result = JSON.parse(row.result.toString()) as CommandResult['result'];
    return { fingerprint: row.fingerprint, outcome: { status: row.status, reason: row.reason.toString(), message: row.message, result } };
  }

  async finish(tx: Tx, commandId: string, { status, reason, message, result }: Outcome): Promise<void> {
    await tx.change(`UPDATE ${this.#table} SET status = ?, reason = ?, message = ?, result = ? WHERE command_id = ?`, [
      status,
      reason,
      message.slice(0, MAX_MESSAGE),
      Buffer.from(JSON.stringify(result)),
      commandId,
    ]);
  }
}
