import type { Log } from '../log/log.ts';
import type { SentRow } from './relay.ts';

/** Topics of orders: their lines are what people look for by trace_id. Of everything else there may be too many. */
const ORDERS: ReadonlySet<string> = new Set(['im.admin.command', 'im.admin.command.result']);

/** One line for each row that Kafka has taken, as long as it belongs to an order; the others at debug level. @see OBS-12 */
export function logSent(log: Log, rows: readonly SentRow[]): void {
  for (const { topic, orderKey, traceId } of rows) {
    log[ORDERS.has(topic) ? 'info' : 'debug']({ trace_id: traceId, topic, order_key: orderKey }, 'relayed');
  }
}
