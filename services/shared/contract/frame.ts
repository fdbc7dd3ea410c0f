/**
 * The header of a frame, 23 bytes, big-endian (FRM-02):
 *
 *   0  u16 magic 0x494D ("IM")      5  u16 flags (bit 0: the body is a zlib stream)    15  u32 sequence id
 *   2  u8  version 1                7  u64 request id                                  19  u32 body bytes on the wire
 *   3  u16 command
 *
 * Then the body: JSON in UTF-8, or nothing. A header that does not parse ends the connection: after it nobody knows where a frame begins.
 */
export const FRAME_MAGIC = 0x494d;
export const FRAME_VERSION = 1;
export const HEADER_BYTES = 23;
export const FLAG_COMPRESSED = 1;
export const MAX_REQUEST_ID = 2n ** 64n - 1n;
export const MAX_SEQUENCE_ID = 0xffff_ffff;

export interface FrameHeader {
  readonly command: number;
  readonly flags: number;
  /** Chosen by the requester, echoed bit for bit. 0 on pushes. */
  readonly requestId: bigint;
  /** Chosen by the requester and echoed; on pushes the connection's own count, which PUSH_ACK names. */
  readonly sequenceId: number;
  readonly bodyBytes: number;
}

/** A whole frame, its body inflated. */
export interface Frame {
  readonly command: number;
  readonly requestId: bigint;
  readonly sequenceId: number;
  readonly body: Buffer;
}

export type FrameFault =
  | 'BAD_MAGIC'
  | 'BAD_VERSION'
  | 'UNKNOWN_FLAGS'
  | 'BODY_TOO_LARGE'
  | 'INFLATED_TOO_LARGE'
  | 'BAD_COMPRESSION'
  | 'TRUNCATED'
  | 'OUT_OF_RANGE';

/** The peer does not speak this protocol, or breaks a limit. The only answer is to close. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly reason: FrameFault;

  constructor(reason: FrameFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Writes a header at the start of `target`. @throws {FrameError} OUT_OF_RANGE when a value does not fit its field */
export function writeHeader(target: Buffer, header: FrameHeader): void {
  if (header.requestId < 0n || header.requestId > MAX_REQUEST_ID) throw new FrameError('OUT_OF_RANGE', 'request id is not a u64');
  if (!isUint(header.sequenceId, MAX_SEQUENCE_ID)) throw new FrameError('OUT_OF_RANGE', 'sequence id is not a u32');
  if (!isUint(header.command, 0xffff)) throw new FrameError('OUT_OF_RANGE', 'command is not a u16');
  target.writeUInt16BE(FRAME_MAGIC, 0);
  target.writeUInt8(FRAME_VERSION, 2);
  target.writeUInt16BE(header.command, 3);
  target.writeUInt16BE(header.flags, 5);
  target.writeBigUInt64BE(header.requestId, 7);
  target.writeUInt32BE(header.sequenceId, 15);
  target.writeUInt32BE(header.bodyBytes, 19);
}

/**
 * Reads the header at the start of `bytes`, which holds at least 23.
 *
 * @throws {FrameError} BAD_MAGIC | BAD_VERSION | UNKNOWN_FLAGS | BODY_TOO_LARGE
 */
export function readHeader(bytes: Buffer, maxBodyBytes: number): FrameHeader {
  if (bytes.readUInt16BE(0) !== FRAME_MAGIC) throw new FrameError('BAD_MAGIC', 'the bytes are not a frame');
  const version = bytes.readUInt8(2);
  if (version !== FRAME_VERSION) throw new FrameError('BAD_VERSION', `frame version ${version} is not spoken here`);
  const flags = bytes.readUInt16BE(5);
  if ((flags & ~FLAG_COMPRESSED) !== 0) throw new FrameError('UNKNOWN_FLAGS', `flags ${flags} are not known`);
  const bodyBytes = bytes.readUInt32BE(19);
  if (bodyBytes > maxBodyBytes) throw new FrameError('BODY_TOO_LARGE', `a body of ${bodyBytes} bytes is over ${maxBodyBytes}`);
  return {
    command: bytes.readUInt16BE(3),
    flags,
    requestId: bytes.readBigUInt64BE(7),
    sequenceId: bytes.readUInt32BE(15),
    bodyBytes,
  };
}

function isUint(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}
