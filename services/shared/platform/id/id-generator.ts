/** Issues ids that rise. @see MSG-01 @see MSG-06 */
export interface IdGenerator {
  /**
   * A fresh id, greater than every id issued before and greater than `above`. Never waits.
   *
   * @throws {Refusal} BUSY when the clock is more than 10 s behind what ids already used, or the lease or the reservation is gone
   */
  next(above?: bigint): bigint;
}

/** Milliseconds of 2024-01-01T00:00:00Z; ids count from there. */
export const ID_EPOCH_MS = Date.UTC(2024, 0, 1);

/** 41 bits of time above 10 bits of worker and 12 bits of sequence. */
export const WORKER_BITS = 10n;
export const SEQUENCE_BITS = 12n;

/** Milliseconds since 2024 in an id. */
export function idTimeMs(id: bigint): number {
  return Number(id >> (WORKER_BITS + SEQUENCE_BITS));
}
