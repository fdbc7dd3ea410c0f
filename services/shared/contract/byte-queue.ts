/** Chunks in the order they came, taken out in the sizes that are wanted. Copies only where a take spans chunks. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  /** Bytes of the first chunk that are taken already. */
  #offset = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    // A peer that sends byte by byte must not cost one object a byte until its frame is whole.
    if (this.#chunks.length > MERGE_ABOVE_CHUNKS) this.#merge();
  }

  /** The next `size` bytes without taking them; undefined while they are not there. */
  peek(size: number): Buffer | undefined {
    if (size > this.#length) return undefined;
    const first = this.#chunks[0];
    if (first === undefined) return EMPTY;
    if (first.length - this.#offset < size) this.#merge();
    return this.#chunks[0]?.subarray(this.#offset, this.#offset + size);
  }

  /** The next `size` bytes; undefined while they are not there. The result may share memory with the chunk it came in. */
  take(size: number): Buffer | undefined {
    const bytes = this.peek(size);
    if (bytes === undefined || size === 0) return bytes;
    this.#length -= size;
    this.#offset += size;
    if (this.#offset === this.#chunks[0]?.length) {
      this.#chunks.shift();
      this.#offset = 0;
    }
    return bytes;
  }

  #merge(): void {
    const [first, ...rest] = this.#chunks;
    if (first === undefined) return;
    this.#chunks = [Buffer.concat([first.subarray(this.#offset), ...rest], this.#length)];
    this.#offset = 0;
  }
}

const MERGE_ABOVE_CHUNKS = 64;
const EMPTY = Buffer.alloc(0);
