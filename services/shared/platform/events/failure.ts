import { Refusal } from '#shared/contract/reasons.ts';

/** MySQL says so when a server, a right or a schema is missing, or it is full or busy; the statement itself may be right. */
const NOT_THE_EVENTS_FAULT = new Set([
  1005, 1021, 1030, 1037, 1040, 1041, 1044, 1045, 1049, 1053, 1114, 1142, 1143, 1146, 1152, 1203, 1205, 1213, 1226, 1290, 1317, 1836, 2002,
  2003, 2006, 2013, 3024, 3100, 3169, 3572, 4031,
]);
/** What mysql2's pool, ioredis and Redis say when closed, away, starting, busy, read-only, full or set up wrongly; these errors have no code. */
const WORDS =
  /^(Pool is closed|Connection is closed|Stream isn't writeable|Command timed out|(LOADING|BUSY|READONLY|OOM|MISCONF|NOAUTH|NOPERM|WRONGPASS|MASTERDOWN|NOREPLICAS|CLUSTERDOWN) )/;
/** Sequelize's pool had no connection in time; there is no code, and the message is anybody's. */
const NAMES = new Set(['SequelizeConnectionAcquireTimeoutError']);
const CODES = /^(E[A-Z]+|PROTOCOL_[A-Z_]+|POOL_[A-Z_]+)$/;

/**
 * Whether an event or a request failed because something it needs is away: then an event is tried until that is back, and no attempt
 * counts. Anything else may be a bug that it meets every time, and counts towards its end. @see RTY-13
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof Refusal) return error.retriable;
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; depth += 1) {
    if (WORDS.test(cause.message) || NAMES.has(cause.name)) return true;
    const { code, errno, parent, fatal } = cause as { code?: unknown; errno?: unknown; parent?: unknown; fatal?: unknown };
    if (fatal === true) return true; // mysql2: this connection is gone.
    if (typeof errno === 'number' && NOT_THE_EVENTS_FAULT.has(errno)) return true;
    if (typeof code === 'string' && CODES.test(code) && !code.startsWith('ER_') && !code.startsWith('ERR_')) return true;
    cause = cause.cause ?? parent;
  }
  return false;
}
