/** A server push. `body` is the whole JSON answer; the same Buffer may go to many sessions and is never changed. */
export interface OutFrame {
  readonly command: number;
  readonly body: Buffer;
}

/** What a push waits for: its PUSH_ACK, or the end of the waiting time. Neither closes the connection (SES-09). */
export interface PushExpectation {
  /** Called once when no PUSH_ACK came in time, or when the connection ended before it. */
  onTimeout(): void;
}

/** Who logged in; fixed for the life of a connection (SES-12). */
export interface Identity {
  readonly tenant: string;
  readonly userId: bigint;
  readonly deviceId: bigint;
}

/**
 * One authenticated connection, seen by everybody outside the gateway. Transport is hidden: nobody holds a socket (FRM-20).
 *
 * @see SES-01
 */
export interface Session extends Identity {
  /** Unique over all processes and restarts; who comes later compares it before he takes something away. */
  readonly connectionId: string;
  /** The client's address as the proxy told it, `::ffff:` removed. */
  readonly realIp: string;
  /**
   * Queues a push. False: it was dropped, because the queue is full or the connection is closing; then `onTimeout` is not called,
   * and the client gets one EVENT `sync.required` as soon as there is room.
   */
  push(frame: OutFrame, expectation?: PushExpectation): boolean;
  /** Sends a last KICK that says why, then closes. */
  kick(reason: string): void;
  /** Flushes what is queued, then closes. `reason` is a short stable word for log and metrics. */
  close(reason: string): void;
}
