/** Where bytes leave. `done` tells when they left this process, so that what a slow client leaves behind is counted. */
export interface Transport {
  write(bytes: Buffer, done: () => void): void;
  /** Flushes, then ends the stream. */
  end(): void;
  /** Ends it now; unsent bytes are lost. */
  destroy(): void;
}

export interface OutboundLimits {
  readonly outboundFrames: number;
  readonly outboundBytes: number;
}

export interface OutboundDeps {
  readonly transport: Transport;
  readonly limits: OutboundLimits;
  /** Runs a task once this turn of the event loop is over. */
  readonly schedule: (task: () => void) => void;
  /** Called after a push was refused, once half of the queue is free again. */
  readonly onRoom: () => void;
}

/**
 * Frames on their way to one client, and the bound on them (SES-08, SES-16). Counted are frames that wait here and bytes that
 * wait in the socket; only a client that reads makes room. Frames of one loop turn leave in one write.
 *
 * Pushes may fill three quarters of the bytes; the rest is kept for answers, which are never dropped.
 */
export class OutboundQueue {
  readonly #deps: OutboundDeps;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #unsentFrames = 0;
  #unsentBytes = 0;
  #isScheduled = false;
  #isRoomWanted = false;

  constructor(deps: OutboundDeps) {
    this.#deps = deps;
  }

  /** @returns false when there is no room: the push is not queued */
  offerPush(frame: Buffer): boolean {
    const { outboundFrames, outboundBytes } = this.#deps.limits;
    const fits = this.#unsentFrames < outboundFrames && this.#unsentBytes + frame.length <= outboundBytes * PUSH_SHARE;
    if (fits) this.#add(frame);
    else this.#wantRoom();
    return fits;
  }

  /** @returns false beyond the byte bound: the client does not read its answers and must go */
  offerReply(frame: Buffer): boolean {
    const fits = this.#unsentBytes + frame.length <= this.#deps.limits.outboundBytes;
    if (fits) this.#add(frame);
    return fits;
  }

  /** Hands everything that waits to the transport. */
  flush(): void {
    const frames = this.#waiting;
    if (frames.length === 0) return;
    const bytes = frames.length === 1 && frames[0] !== undefined ? frames[0] : Buffer.concat(frames, this.#waitingBytes);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#deps.transport.write(bytes, () => {
      this.#sent(frames.length, bytes.length);
    });
  }

  #add(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#unsentFrames += 1;
    this.#unsentBytes += frame.length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.schedule(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  #sent(frames: number, bytes: number): void {
    this.#unsentFrames -= frames;
    this.#unsentBytes -= bytes;
    if (!this.#isRoomWanted || !this.#isHalfFree()) return;
    this.#isRoomWanted = false;
    this.#deps.onRoom();
  }

  /** A push that is too big for an empty queue finds room at once, in the next turn. */
  #wantRoom(): void {
    if (this.#isRoomWanted) return;
    this.#isRoomWanted = true;
    this.#deps.schedule(() => {
      this.#sent(0, 0);
    });
  }

  #isHalfFree(): boolean {
    const { outboundFrames, outboundBytes } = this.#deps.limits;
    return this.#unsentFrames <= outboundFrames / 2 && this.#unsentBytes <= outboundBytes / 2;
  }
}

const PUSH_SHARE = 0.75;
