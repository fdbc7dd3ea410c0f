import type { EventIdentity, Parsed } from '#shared/contract/envelope.ts';
import type { InRecord, RecordHandler } from '../kafka/consumer.ts';
import type { Log } from '../log/log.ts';
import type { Database, Tx } from '../mysql/database.ts';
import type { ConsumedEvent, ConsumeLog, SeenEvent } from './consume-log.ts';
import { consumeOnce } from './consume-once.ts';
import type { Done } from './consume-once.ts';
import { isOutage } from './failure.ts';
import type { Quarantine } from './quarantine.ts';

/** What is particular about a kind of event; everything else is the same for all consumers. */
export interface Inbox<T> {
  parse(value: Uint8Array | null): Parsed<T>;
  /** The identity of a readable event. */
  identify(event: T): EventIdentity;
  /** The business change, in the transaction of its proof. Throws what should be tried again. */
  execute(tx: Tx, event: T): Promise<Done>;
  /** The event is finished already; `seen.isRedelivery` says whether somebody asked again. */
  again?(tx: Tx, event: EventIdentity & { readonly parsed: T | undefined }, seen: SeenEvent): Promise<void>;
  /** The event ends without having been executed: malformed, or its attempts are used up. For telling its sender. */
  giveUp(tx: Tx, event: EventIdentity, why: GivenUp): Promise<void>;
}

export interface GivenUp {
  readonly kind: 'malformed' | 'exhausted';
  readonly detail: string;
}

export interface ReceiveDeps<T> {
  readonly inbox: Inbox<T>;
  readonly consumeLog: ConsumeLog;
  readonly quarantine: Quarantine;
  /** The database of a tenant; undefined = there is no such tenant. */
  readonly databaseOf: (tenantCode: string) => Database | undefined;
  readonly log: Log;
  readonly onFinished?: (outcome: 'executed' | 'seen' | 'quarantined' | 'dead') => void;
}

export interface ReceiveSettings {
  /** Failed attempts (outages do not count) after which an event is dead. @see RTY-11 */
  readonly maxRetryCount: number;
}

/**
 * Turns an inbox into a record handler: it resolves when the record has a final state in a database, and rejects when it must come again.
 *
 *   not believed, unreadable, unknown tenant -> quarantine      malformed -> `dead`
 *   finished before -> nothing, or the answer again             executed -> `succeeded` or `dead`, as the inbox says
 *   something is away -> again, for ever                        failed for another reason -> again, up to the limit, then `dead`
 */
export function receiver<T>(deps: ReceiveDeps<T>, { maxRetryCount }: ReceiveSettings): RecordHandler {
  const { inbox, quarantine, databaseOf, log, onFinished } = deps;
  return async (record) => {
    const parsed = record.fault === undefined ? inbox.parse(record.value) : undefined;
    if (parsed === undefined || parsed.kind === 'unreadable') {
      await quarantine.keep(record, record.fault ?? 'UNREADABLE', parsed?.detail ?? '');
      onFinished?.('quarantined');
      return;
    }
    const identity = parsed.kind === 'ok' ? inbox.identify(parsed.value) : parsed.identity;
    const db = databaseOf(identity.tenant_code);
    if (db === undefined) {
      await quarantine.keep(record, 'UNKNOWN_TENANT', identity.tenant_code);
      onFinished?.('quarantined');
      return;
    }
    const outcome = await settle(deps, { record, identity, parsed, db, maxRetryCount });
    // Orders and their answers are what people look for by trace_id; of everything else there may be too many.
    log[identity.command_id === '' ? 'debug' : 'info']({ ...idsOf(identity), topic: record.topic, outcome }, 'event handled');
    onFinished?.(outcome);
  };
}

const MAX_KEY_BYTES = 255;

interface Case<T> {
  readonly record: InRecord;
  readonly identity: EventIdentity;
  readonly parsed: Exclude<Parsed<T>, { kind: 'unreadable' }>;
  readonly db: Database;
  readonly maxRetryCount: number;
}

async function settle<T>(
  deps: ReceiveDeps<T>,
  { record, identity, parsed, db, maxRetryCount }: Case<T>,
): Promise<'executed' | 'seen' | 'dead'> {
  const { inbox, consumeLog, log } = deps;
  const event: ConsumedEvent = {
    eventId: identity.event_id,
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    orderKey: record.key?.subarray(0, MAX_KEY_BYTES) ?? Buffer.alloc(0),
  };
  const dead = async (tx: Tx, why: GivenUp): Promise<Done> => {
    await inbox.giveUp(tx, identity, why);
    return { status: 'dead', error: why.detail };
  };
  const finish = (execute: (tx: Tx) => Promise<Done>): Promise<'executed' | 'seen'> =>
    consumeOnce({ db, log: consumeLog }, event, {
      execute,
      again: async (tx, seen) => inbox.again?.(tx, { ...identity, parsed: parsed.kind === 'ok' ? parsed.value : undefined }, seen),
    });
  try {
    return await finish((tx) =>
      parsed.kind === 'ok' ? inbox.execute(tx, parsed.value) : dead(tx, { kind: 'malformed', detail: parsed.detail }),
    );
  } catch (error) {
    if (isOutage(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const attempts = await consumeLog.noteFailure(db, event, reason);
    if (attempts <= maxRetryCount) throw error;
    log.error({ ...idsOf(identity), error: asError(error) }, 'an event is given up');
    await finish((tx) => dead(tx, { kind: 'exhausted', detail: reason }));
    return 'dead';
  }
}

function idsOf({ event_id, trace_id, tenant_code, event_type, command_id }: EventIdentity): Record<string, string> {
  return { event_id, trace_id, tenant_code, event_type, command_id };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
