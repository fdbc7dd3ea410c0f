import { constants, deflateSync, inflateSync } from 'node:zlib';
import { ByteQueue } from './byte-queue.ts';
import { FLAG_COMPRESSED, FrameError, HEADER_BYTES, readHeader, writeHeader } from './frame.ts';
import type { Frame, FrameHeader } from './frame.ts';

export interface FrameLimits {
  /** Largest body, on the wire and after inflating (bytes). */
  readonly maxBodyBytes: number;
}

/** A body as it goes on the wire. */
export interface PackedBody {
  readonly flags: number;
  readonly bytes: Buffer;
}

/** Deflates a body over `compressMinBytes` when that makes it smaller. Level 1: the event loop waits for it. */
export function packBody(body: Buffer, compressMinBytes: number): PackedBody {
  if (body.length > compressMinBytes) {
    const deflated = deflateSync(body, { level: constants.Z_BEST_SPEED });
    if (deflated.length < body.length) return { flags: FLAG_COMPRESSED, bytes: deflated };
  }
  return { flags: 0, bytes: body };
}

/**
 * The inflated body. Both limits hold: the wire's was checked with the header, and inflating stops at `maxBodyBytes`.
 *
 * @throws {FrameError} INFLATED_TOO_LARGE | BAD_COMPRESSION
 */
export function unpackBody(packed: PackedBody, { maxBodyBytes }: FrameLimits): Buffer {
  if ((packed.flags & FLAG_COMPRESSED) === 0) return packed.bytes;
  try {
    return inflateSync(packed.bytes, { maxOutputLength: maxBodyBytes, rejectGarbageAfterEnd: true });
  } catch (error) {
    if (error instanceof RangeError) throw new FrameError('INFLATED_TOO_LARGE', `the body inflates to over ${maxBodyBytes} bytes`);
    throw new FrameError('BAD_COMPRESSION', 'the body is not one zlib stream', { cause: error });
  }
}

/** Header and body in one Buffer. @throws {FrameError} OUT_OF_RANGE */
export function encodePacked(header: Omit<FrameHeader, 'flags' | 'bodyBytes'>, body: PackedBody): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.bytes.length);
  writeHeader(frame, { ...header, flags: body.flags, bodyBytes: body.bytes.length });
  body.bytes.copy(frame, HEADER_BYTES);
  return frame;
}

/** @throws {FrameError} OUT_OF_RANGE */
export function encodeFrame(frame: Frame, compressMinBytes: number): Buffer {
  return encodePacked(frame, packBody(frame.body, compressMinBytes));
}

/** Takes frames out of a stream of bytes. Two states: header wanted, body wanted; the limit is known before a body is kept. */
export class FrameReader {
  readonly #bytes = new ByteQueue();
  readonly #limits: FrameLimits;
  #header: FrameHeader | undefined;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** True while part of a frame has come and the rest has not. */
  get isInFrame(): boolean {
    return this.#header !== undefined || this.#bytes.length > 0;
  }

  /** Yields every frame that `chunk` completes. @throws {FrameError} after it the stream has no meaning: close */
  *read(chunk: Buffer): Generator<Frame> {
    this.#bytes.push(chunk);
    for (;;) {
      this.#header ??= this.#readHeader();
      if (this.#header === undefined) return;
      const bytes = this.#bytes.take(this.#header.bodyBytes);
      if (bytes === undefined) return;
      const { command, flags, requestId, sequenceId } = this.#header;
      this.#header = undefined;
      yield { command, requestId, sequenceId, body: unpackBody({ flags, bytes }, this.#limits) };
    }
  }

  /** Call at the end of the stream. @throws {FrameError} TRUNCATED when it ends inside a frame */
  end(): void {
    if (this.isInFrame) throw new FrameError('TRUNCATED', 'the stream ended inside a frame');
  }

  #readHeader(): FrameHeader | undefined {
    const bytes = this.#bytes.take(HEADER_BYTES);
    return bytes === undefined ? undefined : readHeader(bytes, this.#limits.maxBodyBytes);
  }
}
