import assert from 'node:assert/strict';
import fc from 'fast-check';
import { plainAddress, ProxyHeaderError, ProxyHeaderReader } from './proxy-header.ts';
import type { ProxyHeader, ProxyHeaderFault } from './proxy-header.ts';

const TLS = Buffer.from('160301aabbcc', 'hex');
const CLIENT = { kind: 'client', ip: '203.0.113.9', port: 51_000 };
const V1 = Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.2 51000 443\r\n');
const V4_ADDRESSES = Buffer.from('cb0071090a000002c73801bb', 'hex');
const V2 = version2(0x21, 0x11, V4_ADDRESSES);
const V2_WITH_TLV = version2(0x21, 0x11, Buffer.concat([V4_ADDRESSES, Buffer.from('0400050102030405', 'hex')]));
const V2_LOCAL = version2(0x20, 0x00, Buffer.alloc(0));

describe('PROXY header', () => {
  it('is read at any chunking and gives back what follows it (F1, NET-09)', () => {
    const cases = [V1, V2, V2_WITH_TLV, V2_LOCAL, Buffer.from('PROXY UNKNOWN\r\n')];
    fc.assert(
      fc.property(fc.constantFrom(...cases), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (header, sizes) => {
        const whole = feed([Buffer.concat([header, TLS])]);
        assert.deepEqual(feed(cut(Buffer.concat([header, TLS]), sizes)).origin, whole.origin);
        assert.deepEqual(whole.rest, TLS);
      }),
    );
  });

  it('tells the client of version 1 and 2, TLVs skipped', () => {
    for (const header of [V1, V2, V2_WITH_TLV]) assert.deepEqual(feed([header]).origin, CLIENT);
  });

  it('knows no client for LOCAL and UNKNOWN, whatever addresses they carry', () => {
    assert.deepEqual(feed([V2_LOCAL]).origin, { kind: 'local' });
    assert.deepEqual(feed([version2(0x20, 0x11, V4_ADDRESSES)]).origin, { kind: 'local' });
    assert.deepEqual(feed([version2(0x21, 0x00, Buffer.alloc(12))]).origin, { kind: 'unknown' });
    assert.deepEqual(feed([Buffer.from('PROXY UNKNOWN 1.2.3.4 5.6.7.8 1 2\r\n')]).origin, { kind: 'unknown' });
  });

  it('takes ::ffff: off and shortens IPv6', () => {
    const six = feed([Buffer.from('PROXY TCP6 ::ffff:127.0.0.7 ::ffff:127.0.0.1 40000 443\r\n')]);
    assert.deepEqual(six.origin, { kind: 'client', ip: '127.0.0.7', port: 40_000 });
    const binary = version2(0x21, 0x21, Buffer.concat([Buffer.from('20010db8000000000000000000000001', 'hex'), Buffer.alloc(20, 1)]));
    assert.deepEqual(feed([binary]).origin, { kind: 'client', ip: '2001:db8::1', port: 257 });
    assert.equal(plainAddress('2001:DB8:0:0:0:0:0:1'), '2001:db8::1');
  });

  it('accepts a destination that is a unix path, as nginx sends from its inner hop', () => {
    const origin = feed([Buffer.from('PROXY TCP4 127.0.0.9 unix:/run/a.sock 34973 0\r\n')]).origin;
    assert.deepEqual(origin, { kind: 'client', ip: '127.0.0.9', port: 34_973 });
  });

  it('refuses a line without end within 107 bytes and a version 2 length over the cap', () => {
    assert.throws(() => feed([Buffer.from(`PROXY TCP4 ${'1'.repeat(200)}`)]), isFault('TOO_LONG'));
    assert.throws(() => feed([Buffer.from(`PROXY TCP4 1.1.1.1 2.2.2.2 1 ${'2'.repeat(100)}\r\n`)]), isFault('TOO_LONG'));
    assert.throws(() => feed([Buffer.concat([V2.subarray(0, 14), Buffer.from('ffff', 'hex')])]), isFault('TOO_LONG'));
  });

  it('refuses at the first wrong byte: TLS, HTTP, another header', () => {
    for (const bytes of [TLS, Buffer.from('GET / HTTP/1.1\r\n'), Buffer.from('PROXZ'), Buffer.from('0d0a0d0b', 'hex')]) {
      assert.throws(() => feed([bytes]), isFault('NOT_A_HEADER'));
    }
  });

  it('refuses addresses and ports that are none', () => {
    const lines = [
      'TCP4 999.1.1.1 2.2.2.2 1 2',
      'TCP4 ::1 2.2.2.2 1 2',
      'TCP6 1.1.1.1 ::1 1 2',
      'TCP4 1.1.1.1 2.2.2.2 99999 2',
      'TCP4 1.1.1.1',
      'UDP4 1.1.1.1 2.2.2.2 1 2',
    ];
    for (const line of lines) assert.throws(() => feed([Buffer.from(`PROXY ${line}\r\n`)]), isFault('MALFORMED'));
    assert.throws(() => feed([version2(0x21, 0x11, Buffer.alloc(5))]), isFault('MALFORMED'));
    assert.throws(() => feed([version2(0x31, 0x11, V4_ADDRESSES)]), isFault('MALFORMED'));
    assert.throws(() => feed([version2(0x21, 0x12, V4_ADDRESSES)]), isFault('UNSUPPORTED'));
    assert.throws(() => feed([version2(0x21, 0x31, Buffer.alloc(216))]), isFault('UNSUPPORTED'));
  });
});

function feed(chunks: readonly Buffer[]): ProxyHeader {
  const reader = new ProxyHeaderReader();
  for (const [index, chunk] of chunks.entries()) {
    const header = reader.push(chunk);
    if (header !== undefined) return { ...header, rest: Buffer.concat([header.rest, ...chunks.slice(index + 1)]) };
  }
  throw new Error('the header never became whole');
}

function version2(versionAndCommand: number, familyAndProtocol: number, rest: Buffer): Buffer {
  const fixed = Buffer.from([...Buffer.from('0d0a0d0a000d0a515549540a', 'hex'), versionAndCommand, familyAndProtocol, 0, 0]);
  fixed.writeUInt16BE(rest.length, 14);
  return Buffer.concat([fixed, rest]);
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

function isFault(reason: ProxyHeaderFault): (error: unknown) => boolean {
  return (error) => error instanceof ProxyHeaderError && error.reason === reason;
}
