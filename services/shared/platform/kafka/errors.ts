/**
 * Whose fault a failed send is.
 *   unreachable  the cluster's: nothing is wrong with the records; try all of them again when it is back
 *   permanent    the record's: no broker will ever take it
 *   temporary    anything else (topic missing, not authorised): that record again, later
 */
export type SendFault = 'unreachable' | 'permanent' | 'temporary';

export class SendError extends Error {
  override readonly name = 'SendError';
  readonly fault: SendFault;

  constructor(fault: SendFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

const PERMANENT = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_TOPIC_EXCEPTION', 'INVALID_RECORD']);

const UNREACHABLE_TYPES = new Set([
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'BROKER_NOT_AVAILABLE',
  'REPLICA_NOT_AVAILABLE',
  'NETWORK_EXCEPTION',
  'REQUEST_TIMED_OUT',
  'NOT_ENOUGH_REPLICAS',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
  'KAFKA_STORAGE_ERROR',
]);

const UNREACHABLE_NAMES = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSNoBrokerAvailableError',
  'KafkaJSMetadataNotLoaded',
  'KafkaJSTimeout',
  'KafkaJSLockTimeout',
]);

/** kafkajs throws this one as a plain error: no answer came to its first request on a connection. */
const NOT_CONNECTED = 'Broker not connected';

const UNREACHABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/**
 * kafkajs wraps what happened in "number of retries exceeded" or "non retriable", the latter also when the broker was merely
 * down: only the innermost errors tell. So every cause is asked, and the most definite answer counts.
 */
export function classifySendError(error: unknown): SendFault {
  const chain = causes(error);
  if (chain.some(({ type }) => PERMANENT.has(type))) return 'permanent';
  return chain.some(isConnectionFailure) ? 'unreachable' : 'temporary';
}

function isConnectionFailure({ type, name, code, message }: Cause): boolean {
  return UNREACHABLE_TYPES.has(type) || UNREACHABLE_NAMES.has(name) || UNREACHABLE_CODES.has(code) || message === NOT_CONNECTED;
}

interface Cause {
  readonly name: string;
  readonly message: string;
  readonly type: string;
  readonly code: string;
}

const MAX_DEPTH = 8;

function causes(error: unknown): readonly Cause[] {
  const found: Cause[] = [];
  for (let cause = error; cause instanceof Error && found.length < MAX_DEPTH; cause = innerOf(cause)) {
    const { type, code } = cause as { type?: unknown; code?: unknown };
    found.push({
      name: cause.name,
      message: cause.message,
      type: typeof type === 'string' ? type : '',
      code: typeof code === 'string' ? code : '',
    });
  }
  return found;
}

function innerOf(error: Error): unknown {
  return error.cause ?? (error as { originalError?: unknown }).originalError;
}
