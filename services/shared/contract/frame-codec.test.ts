import assert from 'node:assert/strict';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { encodeFrame, FrameReader } from './frame-codec.ts';
import { FLAG_COMPRESSED, FrameError, HEADER_BYTES, MAX_REQUEST_ID, writeHeader } from './frame.ts';
import type { Frame, FrameFault } from './frame.ts';

const LIMITS = { maxBodyBytes: 4096 };
const NEVER_COMPRESS = Number.MAX_SAFE_INTEGER;

const frames = fc.record<Frame>(
  {
    command: fc.integer({ min: 0, max: 0xffff }),
    requestId: fc.bigInt({ min: 0n, max: MAX_REQUEST_ID }),
    sequenceId: fc.integer({ min: 0, max: 0xffff_ffff }),
    body: fc
      .oneof(
        fc.uint8Array({ maxLength: 2000 }),
        fc.string({ maxLength: 300 }).map((text) => Buffer.from(text.repeat(4))),
      )
      .map((bytes) => Buffer.from(bytes.subarray(0, LIMITS.maxBodyBytes))),
  },
  { noNullPrototype: true },
);

describe('frame codec', () => {
  it('writes the golden bytes (FRM-02)', () => {
    const frame = { command: 4, requestId: MAX_REQUEST_ID, sequenceId: 7, body: Buffer.from('{"a":1}') };
    assert.equal(encodeFrame(frame, 512).toString('hex'), '494d0100040000ffffffffffffffff00000007000000077b2261223a317d');
  });

  it('brings every frame back, cut into any chunks, compressed or not (FRM-02, FRM-05)', () => {
    fc.assert(
      fc.property(
        fc.array(frames, { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 40 }),
        fc.constantFrom(0, 512, NEVER_COMPRESS),
        (sent, sizes, compressMin) => {
          const wire = Buffer.concat(sent.map((frame) => encodeFrame(frame, compressMin)));
          assert.deepEqual(readAll(cut(wire, sizes)), sent);
        },
      ),
    );
  });

  it('keeps neighbouring 64-bit request ids apart (F2)', () => {
    for (const requestId of [2n ** 53n, 2n ** 53n + 1n, 7405472097755331634n, MAX_REQUEST_ID]) {
      const [frame] = readAll([encodeFrame({ command: 1, requestId, sequenceId: 1, body: Buffer.alloc(0) }, 512)]);
      assert.equal(frame?.requestId, requestId);
    }
  });

  it('yields nothing of a truncated frame and says so at the end', () => {
    fc.assert(
      fc.property(frames, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (frame, share) => {
        const wire = encodeFrame(frame, 512);
        const reader = newReader();
        const part = wire.subarray(0, Math.floor(wire.length * share));
        assert.deepEqual([...reader.read(part)], []);
        assert.equal(reader.isInFrame, part.length > 0);
        if (part.length > 0) {
          assert.throws(() => {
            reader.end();
          }, isFault('TRUNCATED'));
        }
      }),
    );
  });

  it('answers garbage with a FrameError or waits, and never throws anything else', () => {
    const nearly = fc.uint8Array({ minLength: HEADER_BYTES, maxLength: 600 }).map((bytes) => {
      const garbage = Buffer.from(bytes);
      garbage.writeUInt16BE(0x494d, 0);
      garbage.writeUInt8(1, 2);
      garbage.writeUInt16BE(garbage.readUInt16BE(5) & FLAG_COMPRESSED, 5);
      garbage.writeUInt32BE(garbage.length - HEADER_BYTES, 19);
      return garbage;
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 600 }), nearly), (garbage) => {
        try {
          readAll([Buffer.from(garbage)]);
        } catch (error) {
          assert.ok(error instanceof FrameError, String(error));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a foreign magic, another version and unknown flags', () => {
    const wire = encodeFrame({ command: 1, requestId: 1n, sequenceId: 1, body: Buffer.alloc(0) }, 512);
    assert.throws(() => readAll([spoiled(wire, 0, 0x47)]), isFault('BAD_MAGIC'));
    assert.throws(() => readAll([spoiled(wire, 2, 2)]), isFault('BAD_VERSION'));
    assert.throws(() => readAll([spoiled(wire, 6, 2)]), isFault('UNKNOWN_FLAGS'));
    assert.throws(() => readAll([spoiled(wire, 5, 0x80)]), isFault('UNKNOWN_FLAGS'));
  });

  it('refuses an oversized body by its header, before any of it has come (FRM-06)', () => {
    const header = Buffer.alloc(HEADER_BYTES);
    writeHeader(header, { command: 4, flags: 0, requestId: 1n, sequenceId: 1, bodyBytes: LIMITS.maxBodyBytes + 1 });
    assert.throws(() => readAll([header]), isFault('BODY_TOO_LARGE'));
    writeHeader(header, { command: 4, flags: 0, requestId: 1n, sequenceId: 1, bodyBytes: LIMITS.maxBodyBytes });
    assert.deepEqual(readAll([header, Buffer.alloc(LIMITS.maxBodyBytes)]).length, 1);
  });

  it('stops inflating at the limit: a bomb costs no more than a frame', () => {
    const bomb = deflateSync(Buffer.alloc(100 * 1024 * 1024), { level: 9 });
    const small = { maxBodyBytes: bomb.length };
    const header = Buffer.alloc(HEADER_BYTES);
    writeHeader(header, { command: 4, flags: FLAG_COMPRESSED, requestId: 1n, sequenceId: 1, bodyBytes: bomb.length });
    const before = process.memoryUsage().arrayBuffers;
    assert.throws(() => [...new FrameReader(small).read(Buffer.concat([header, bomb]))], isFault('INFLATED_TOO_LARGE'));
    assert.ok(process.memoryUsage().arrayBuffers - before < 10 * 1024 * 1024);
  });

  it('takes a body that inflates to exactly the limit and refuses one byte more', () => {
    const wire = encodeFrame({ command: 4, requestId: 1n, sequenceId: 1, body: Buffer.alloc(LIMITS.maxBodyBytes) }, 512);
    assert.equal(readAll([wire])[0]?.body.length, LIMITS.maxBodyBytes);
    const over = encodeFrame({ command: 4, requestId: 1n, sequenceId: 1, body: Buffer.alloc(LIMITS.maxBodyBytes + 1) }, 512);
    assert.throws(() => readAll([over]), isFault('INFLATED_TOO_LARGE'));
  });

  it('refuses a damaged, a cut and a padded zlib stream', () => {
    const stream = deflateSync(Buffer.from('x'.repeat(1000)));
    assert.throws(() => readAll(compressed(stream.subarray(0, -3))), isFault('BAD_COMPRESSION'));
    assert.throws(() => readAll(compressed(Buffer.concat([stream, Buffer.from('tail')]))), isFault('BAD_COMPRESSION'));
    assert.throws(() => readAll(compressed(Buffer.from('not zlib'))), isFault('BAD_COMPRESSION'));
    assert.throws(() => readAll(compressed(Buffer.alloc(0))), isFault('BAD_COMPRESSION'));
  });

  it('refuses to write a value that does not fit its field', () => {
    const body = Buffer.alloc(0);
    assert.throws(() => encodeFrame({ command: 1, requestId: MAX_REQUEST_ID + 1n, sequenceId: 1, body }, 512), isFault('OUT_OF_RANGE'));
    assert.throws(() => encodeFrame({ command: 1, requestId: 1n, sequenceId: 2 ** 32, body }, 512), isFault('OUT_OF_RANGE'));
    assert.throws(() => encodeFrame({ command: 70_000, requestId: 1n, sequenceId: 1, body }, 512), isFault('OUT_OF_RANGE'));
  });
});

function newReader(): FrameReader {
  return new FrameReader(LIMITS);
}

function readAll(chunks: readonly Buffer[]): Frame[] {
  const reader = newReader();
  return chunks.flatMap((chunk) => [...reader.read(chunk)]);
}

function cut(wire: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < wire.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(wire.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function compressed(body: Buffer): Buffer[] {
  const header = Buffer.alloc(HEADER_BYTES);
  writeHeader(header, { command: 4, flags: FLAG_COMPRESSED, requestId: 1n, sequenceId: 1, bodyBytes: body.length });
  return [Buffer.concat([header, body])];
}

function spoiled(wire: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(wire);
  copy[at] = value;
  return copy;
}

function isFault(reason: FrameFault): (error: unknown) => boolean {
  return (error) => error instanceof FrameError && error.reason === reason;
}
