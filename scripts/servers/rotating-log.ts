import { closeSync, existsSync, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

export interface LogLimits {
  /** Default 10 MiB a file. */
  readonly maxBytes?: number;
  /** Files kept in all, the one being written included. Default 3. */
  readonly files?: number;
}

/**
 * A log that cannot fill the disk: `x.log`, then `x.log.1`, `x.log.2`, the oldest dropped.
 * Writes are synchronous: the lines are few, and the last one before a crash is the one that matters. A full disk costs lines, which are
 * counted, and never stops who writes them.
 */
export class RotatingLog {
  readonly #path: string;
  readonly #maxBytes: number;
  readonly #files: number;
  #descriptor: number;
  #bytes: number;
  #lost = 0;

  constructor(path: string, { maxBytes = 10 * 1_048_576, files = 3 }: LogLimits = {}) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#files = files;
    this.#descriptor = openSync(path, 'a', 0o600);
    this.#bytes = fstatSync(this.#descriptor).size;
  }

  write(line: string): void {
    try {
      if (this.#lost > 0) this.#append(`(${this.#lost} lines were lost)`);
      this.#lost = 0;
      this.#append(line);
    } catch {
      this.#lost += 1;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #append(line: string): void {
    const bytes = Buffer.from(`${line}\n`);
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate();
    writeSync(this.#descriptor, bytes);
    this.#bytes += bytes.length;
  }

  /** The old file is closed last: a number of a descriptor that is closed becomes somebody else's, and lines would go there. */
  #rotate(): void {
    rmSync(this.#nameOf(this.#files - 1), { force: true });
    for (let number = this.#files - 2; number >= 0; number -= 1) {
      if (existsSync(this.#nameOf(number))) renameSync(this.#nameOf(number), this.#nameOf(number + 1));
    }
    const next = openSync(this.#path, 'w', 0o600);
    closeSync(this.#descriptor);
    this.#descriptor = next;
    this.#bytes = 0;
  }

  #nameOf(number: number): string {
    return number === 0 ? this.#path : `${this.#path}.${number}`;
  }
}
