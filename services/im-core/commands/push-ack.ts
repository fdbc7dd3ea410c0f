import type { Frame } from '#shared/contract/frame.ts';
import type { Connection } from '../gateway/connection.ts';

/**
 * The client has the push whose SequenceID this frame carries. Transport only: nothing is stored and nothing is answered (SES-10).
 *
 * Wire  command 7, body empty or `{}`; a number that is unknown, late or repeated changes nothing.
 */
export function pushAck(connection: Connection, frame: Frame): void {
  connection.acknowledge(frame.sequenceId);
}
