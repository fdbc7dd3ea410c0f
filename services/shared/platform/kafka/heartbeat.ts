import type { EachBatchPayload } from 'kafkajs';

/** A batch that works longer than this is not kept alive any more: whatever hangs there, another member gets the partition. */
const LONGEST_BATCH_MS = 300_000;

/** Tells the group during a batch that we are alive, and commits what is done. */
export class Heartbeat {
  readonly #payload: EachBatchPayload;
  readonly #timer: NodeJS.Timeout;
  readonly #untilMs = Date.now() + LONGEST_BATCH_MS;
  #failure: Error | undefined;

  constructor(payload: EachBatchPayload, everyMs: number) {
    this.#payload = payload;
    this.#timer = setInterval(() => void this.#beat(), everyMs);
  }

  /** The group changed or is unreachable: take no further record. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** @throws what the group answered, for kafkajs, which then joins again */
  end(): void {
    clearInterval(this.#timer);
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #beat(): Promise<void> {
    if (Date.now() > this.#untilMs) {
      clearInterval(this.#timer);
      return;
    }
    try {
      await this.#payload.heartbeat();
      await this.#payload.commitOffsetsIfNecessary();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error('the group did not answer');
      clearInterval(this.#timer);
    }
  }
}
