import { buildCommandResult, commandIdOf, fingerprint, parseEnvelope } from '#shared/contract/envelope.ts';
import type { CommandResult, Envelope, EventIdentity, Payload } from '#shared/contract/envelope.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Topic } from '#shared/contract/topics.ts';
import type { Tx } from '../mysql/database.ts';
import type { SeenEvent } from './consume-log.ts';
import type { Done } from './consume-once.ts';
import type { Operations, Outcome } from './operations.ts';
import { appendOutbox } from './outbox.ts';
import type { OutboxEvent, OutboxTable } from './outbox.ts';
import type { GivenUp, Inbox } from './receive.ts';
import { withSavepoint } from './savepoint.ts';

/** What a command did: the `result` of its answer, and events that go out with it. */
export interface CommandEffect {
  readonly result: Payload;
  readonly events?: readonly (OutboxEvent & { readonly topic: Topic })[];
}

/** One kind of command. */
export interface CommandHandler<Command> {
  readonly eventType: string;
  /** @throws {Refusal} INVALID_ARGUMENT: the command is malformed and ends as `dead` */
  parse(payload: Payload, envelope: Envelope): Command;
  /** @throws {Refusal} for business reasons: the command ends as `failed`, and what was changed before is undone */
  execute(tx: Tx, command: Command, envelope: Envelope): Promise<CommandEffect>;
}

// A table of handlers holds different commands, so it sees them through this: a command that is parsed and waits for its transaction.
export interface AnyCommandHandler {
  readonly eventType: string;
  prepare(payload: Payload, envelope: Envelope): (tx: Tx) => Promise<CommandEffect>;
}

export function anyCommand<Command>(handler: CommandHandler<Command>): AnyCommandHandler {
  return {
    eventType: handler.eventType,
    prepare: (payload, envelope) => {
      const command = handler.parse(payload, envelope);
      return (tx) => handler.execute(tx, command, envelope);
    },
  };
}

export interface CommandInboxDeps {
  readonly handlers: readonly AnyCommandHandler[];
  readonly operations: Operations;
  readonly outbox: OutboxTable;
  /** The name of a topic in this installation; tests put their prefix in front. Default: as it is. */
  readonly topic?: (name: Topic) => string;
}

const RESULT_TOPIC = 'im.admin.command.result';

/**
 * Executes commands once and answers every one of them. Which answer a command gets is decided by its id and its content, not by the
 * event it came in: the same content gets the stored answer again, another content under a known id is COMMAND_DUPLICATED.
 * @see X-12 @see CMD-09 @see CMD-17 @see CMD-23
 */
export class CommandInbox implements Inbox<Envelope> {
  readonly #deps: CommandInboxDeps;
  readonly #handlers: ReadonlyMap<string, AnyCommandHandler>;
  readonly #topic: (name: Topic) => string;

  constructor(deps: CommandInboxDeps) {
    this.#deps = deps;
    this.#topic = deps.topic ?? ((name) => name);
    this.#handlers = new Map(deps.handlers.map((handler) => [handler.eventType, handler]));
  }

  parse(value: Uint8Array | null): ReturnType<typeof parseEnvelope> {
    return parseEnvelope(value);
  }

  identify({ event_id, trace_id, tenant_code, event_type, payload }: Envelope): EventIdentity {
    return { event_id, trace_id, tenant_code, event_type, command_id: commandIdOf(payload) ?? '' };
  }

  async execute(tx: Tx, envelope: Envelope): Promise<Done> {
    const identity = this.identify(envelope);
    const prepared = this.#prepare(envelope);
    if (prepared instanceof Refusal) return this.#refuse(tx, identity, prepared);
    const known = await this.#deps.operations.claim(tx, {
      commandId: identity.command_id,
      fingerprint: fingerprint(envelope.event_type, envelope.payload),
      eventId: envelope.event_id,
    });
    if (known !== undefined) return this.#answerKnown(tx, envelope, known);
    const outcome = await this.#run(tx, prepared);
    await this.#deps.operations.finish(tx, identity.command_id, outcome);
    await this.#answer(tx, identity, outcome);
    return outcome.status === 'succeeded' ? { status: 'succeeded' } : { status: 'dead', error: `${outcome.reason}: ${outcome.message}` };
  }

  /** Somebody sent the event a second time: the answer may have got lost. A redelivery asks nothing. */
  async again(tx: Tx, { parsed, ...identity }: EventIdentity & { readonly parsed: Envelope | undefined }, seen: SeenEvent): Promise<void> {
    if (seen.isRedelivery) return;
    if (parsed === undefined) {
      await this.giveUp(tx, identity, { kind: 'malformed', detail: seen.lastError });
      return;
    }
    const prepared = this.#prepare(parsed);
    const known = prepared instanceof Refusal ? undefined : await this.#deps.operations.find(tx, identity.command_id);
    if (prepared instanceof Refusal) await this.#refuse(tx, identity, prepared);
    else if (known !== undefined) await this.#answerKnown(tx, parsed, known);
    else await this.giveUp(tx, identity, { kind: 'exhausted', detail: seen.lastError });
  }

  /** What a bug said stays in the consume log; the back office gets a stable word. */
  async giveUp(tx: Tx, identity: EventIdentity, { kind, detail }: GivenUp): Promise<void> {
    const refusal =
      kind === 'malformed' ? new Refusal('INVALID_ARGUMENT', detail) : new Refusal('INTERNAL', 'the command could not be executed');
    await this.#refuse(tx, identity, refusal);
  }

  /** Everything about the command that can be judged without the database. */
  #prepare(envelope: Envelope): ((tx: Tx) => Promise<CommandEffect>) | Refusal {
    const handler = this.#handlers.get(envelope.event_type);
    if (handler === undefined)
      return new Refusal('INVALID_ARGUMENT', `there is no command ${envelope.event_type}`, { field: 'event_type' });
    if (commandIdOf(envelope.payload) === undefined)
      return new Refusal('INVALID_ARGUMENT', 'command_id is missing', { field: 'command_id' });
    try {
      return handler.prepare(envelope.payload, envelope);
    } catch (error) {
      if (error instanceof Refusal && !error.retriable) return error;
      throw error;
    }
  }

  async #run(tx: Tx, execute: (tx: Tx) => Promise<CommandEffect>): Promise<Outcome> {
    try {
      const { result, events = [] } = await withSavepoint(tx, execute);
      for (const event of events) await appendOutbox(tx, this.#deps.outbox, { ...event, topic: this.#topic(event.topic) });
      return { status: 'succeeded', reason: '', message: '', result };
    } catch (error) {
      if (!(error instanceof Refusal) || error.retriable) throw error;
      return { status: 'failed', reason: error.reason, message: error.message, result: error.details };
    }
  }

  async #answerKnown(tx: Tx, envelope: Envelope, known: { fingerprint: Buffer; outcome: Outcome }): Promise<Done> {
    const identity = this.identify(envelope);
    if (known.fingerprint.equals(fingerprint(envelope.event_type, envelope.payload))) {
      await this.#answer(tx, identity, known.outcome);
      return { status: 'succeeded' };
    }
    const refusal = new Refusal('COMMAND_DUPLICATED', 'this command_id was used with other content');
    await this.#answer(tx, identity, { status: 'failed', reason: refusal.reason, message: refusal.message, result: {} });
    return { status: 'dead', error: refusal.reason };
  }

  async #refuse(tx: Tx, identity: EventIdentity, { reason, message, details }: Refusal): Promise<Done> {
    await this.#answer(tx, identity, { status: 'dead', reason, message, result: details });
    return { status: 'dead', error: `${reason}: ${message}` };
  }

  async #answer(tx: Tx, identity: EventIdentity, outcome: Omit<Outcome, 'status'> & Pick<CommandResult, 'status'>): Promise<void> {
    const envelope = buildCommandResult({
      trace_id: identity.trace_id,
      tenant_code: identity.tenant_code,
      command_id: identity.command_id,
      command_event_id: identity.event_id,
      ...outcome,
    });
    // Whoever answers holds the row of this command, or of this event when the command has no id: that is its order.
    const orderKey = `${identity.tenant_code}:${identity.command_id === '' ? identity.event_id : identity.command_id}`;
    await appendOutbox(tx, this.#deps.outbox, { topic: this.#topic(RESULT_TOPIC), orderKey, envelope });
  }
}
