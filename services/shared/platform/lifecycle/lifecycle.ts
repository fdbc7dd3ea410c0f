/** A part of a process. `start` resolves when it can do its work, `stop` when it has finished it. */
export interface Part {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts parts in order and stops what started, last first, each awaited. @see OPS-01 @see OPS-02 */
export class Lifecycle {
  readonly #started: Part[] = [];

  /** @throws what a part threw; the parts before it keep running until `stop` */
  async start(parts: readonly Part[]): Promise<void> {
    for (const part of parts) {
      await part.start();
      this.#started.push(part);
    }
  }

  /** Stops everything, also when one part fails to. @throws {AggregateError} with all failures */
  async stop(): Promise<void> {
    const failures: unknown[] = [];
    for (let part = this.#started.pop(); part !== undefined; part = this.#started.pop()) {
      try {
        await part.stop();
      } catch (error) {
        failures.push(new Error(`${part.name} did not stop cleanly`, { cause: error }));
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some parts did not stop cleanly');
  }
}
