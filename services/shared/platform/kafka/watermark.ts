/**
 * Offsets of one fetched batch that are worked on at the same time. Committing offset n says "everything up to n is done", so only the
 * offset before the lowest unfinished one may be committed.
 */
export class Watermark {
  readonly #offsets: readonly string[];
  readonly #finished = new Set<string>();
  #next = 0;

  /** @param offsets in the order of the partition */
  constructor(offsets: readonly string[]) {
    this.#offsets = offsets;
  }

  /** @returns the highest offset below which nothing is unfinished, when this call raised it */
  finish(offset: string): string | undefined {
    this.#finished.add(offset);
    const before = this.#next;
    for (let next = this.#offsets[this.#next]; next !== undefined && this.#finished.has(next); next = this.#offsets[this.#next]) {
      this.#next += 1;
    }
    return this.#next === before ? undefined : this.#offsets[this.#next - 1];
  }

  /** Offset of the lowest record that is not finished. */
  get lowestUnfinished(): string | undefined {
    return this.#offsets[this.#next];
  }
}
