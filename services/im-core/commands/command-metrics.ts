import type { Counter, Histogram } from 'prom-client';
import { commandName, COMMANDS } from '#shared/contract/commands.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';

/** The figures of client commands. @see OBS-05 @see OBS-09 */
export class CommandMetrics {
  readonly #seconds: Histogram;
  readonly #sendAckSeconds: Histogram;
  readonly #sendRefused: Counter;
  readonly #refused: Counter;
  /** Answered requests that have a name of their own. */
  readonly #answered: ReadonlyMap<number, Counter>;

  constructor(metrics: Metrics) {
    this.#seconds = metrics.histogram('command_seconds', 'From a whole frame to its queued answer.', ['command']);
    this.#sendAckSeconds = metrics.histogram('send_ack_latency', 'Seconds from a whole SEND_MESSAGE to its queued SEND_ACK.');
    this.#sendRefused = metrics.counter('message_send_refused_total', 'Sends that were refused, by reason.', ['reason']);
    this.#refused = metrics.counter('command_refused_total', 'Requests that were refused, by command and reason.', ['command', 'reason']);
    this.#answered = new Map([
      [COMMANDS.SEND_MESSAGE, metrics.counter('message_send_total', 'Sends that were acknowledged, repeats among them.')],
      [COMMANDS.SYNC_INBOX, metrics.counter('inbox_sync_total', 'Answered SYNC_INBOX.')],
      [COMMANDS.SYNC_MESSAGES, metrics.counter('message_sync_total', 'Answered SYNC_MESSAGES.')],
    ]);
  }

  answered(command: number, seconds: number): void {
    this.#seconds.observe({ command: nameOf(command) }, seconds);
    this.#answered.get(command)?.inc();
    if (command === COMMANDS.SEND_MESSAGE) this.#sendAckSeconds.observe(seconds);
  }

  refused(command: number, reason: string, seconds: number): void {
    this.#seconds.observe({ command: nameOf(command) }, seconds);
    this.#refused.inc({ command: nameOf(command), reason });
    if (command === COMMANDS.SEND_MESSAGE) this.#sendRefused.inc({ reason });
  }
}

/** One word for every number that is none of ours: labels are not for strangers to make. */
function nameOf(command: number): string {
  return commandName(command) ?? 'unknown';
}
