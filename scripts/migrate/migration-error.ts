/** A migration that we refuse to run, or that cannot go on; the message says what an operator can do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}
