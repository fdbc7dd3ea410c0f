import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import {
  AddressFamilyType,
  Command,
  INETProtocol,
  IPv4ProxyAddress,
  IPv6ProxyAddress,
  TransportProtocol,
  V1ProxyProtocol,
  V2ProxyProtocol,
} from 'proxy-protocol-js';

/**
 * The PROXY header that comes before TLS (NET-09). It is never guessed: a connection that does not begin with one is closed.
 * Bytes gather here until a whole header is there; the parser gets exactly that slice, because it neither waits for more
 * nor notices what is missing.
 */
export type ProxyHeaderFault = 'NOT_A_HEADER' | 'TOO_LONG' | 'MALFORMED' | 'UNSUPPORTED';

export class ProxyHeaderError extends Error {
  override readonly name = 'ProxyHeaderError';
  readonly reason: ProxyHeaderFault;

  constructor(reason: ProxyHeaderFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** What the proxy says. `local` is its own health check, `unknown` a client whose address it lost: neither has an address. */
export type ProxyOrigin = { readonly kind: 'client'; readonly ip: string; readonly port: number } | { readonly kind: 'local' | 'unknown' };

export interface ProxyHeader {
  readonly origin: ProxyOrigin;
  /** The bytes behind the header: the beginning of TLS. */
  readonly rest: Buffer;
}

export class ProxyHeaderReader {
  #bytes: Buffer = Buffer.alloc(0);

  get hasBytes(): boolean {
    return this.#bytes.length > 0;
  }

  /** @returns undefined while the header is not whole. @throws {ProxyHeaderError} as soon as it cannot become one */
  push(chunk: Buffer): ProxyHeader | undefined {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const isVersion2 = this.#bytes[0] === V2_SIGNATURE[0];
    const size = isVersion2 ? version2Size(this.#bytes) : version1Size(this.#bytes);
    if (size === undefined || this.#bytes.length < size) return undefined;
    const header = this.#bytes.subarray(0, size);
    return { origin: isVersion2 ? parseVersion2(header) : parseVersion1(header), rest: this.#bytes.subarray(size) };
  }
}

/** Longest line of version 1, its CRLF included. */
const V1_MAX_BYTES = 107;
const V1_SIGNATURE = Buffer.from('PROXY ');
const V2_SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const V2_FIXED_BYTES = 16;
/** Addresses take up to 216 bytes; the rest is room for the TLVs of cloud balancers. */
const V2_MAX_LENGTH = 512;

function version1Size(bytes: Buffer): number | undefined {
  requirePrefix(bytes, V1_SIGNATURE);
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n');
  if (end !== -1) return end + 2;
  if (bytes.length >= V1_MAX_BYTES) throw new ProxyHeaderError('TOO_LONG', `no end of line within ${V1_MAX_BYTES} bytes`);
  return undefined;
}

function version2Size(bytes: Buffer): number | undefined {
  requirePrefix(bytes, V2_SIGNATURE);
  if (bytes.length < V2_FIXED_BYTES) return undefined;
  const length = bytes.readUInt16BE(14);
  if (length > V2_MAX_LENGTH) throw new ProxyHeaderError('TOO_LONG', `a header of ${length} bytes is over ${V2_MAX_LENGTH}`);
  return V2_FIXED_BYTES + length;
}

function requirePrefix(bytes: Buffer, signature: Buffer): void {
  const shared = Math.min(bytes.length, signature.length);
  if (bytes.compare(signature, 0, shared, 0, shared) !== 0)
    throw new ProxyHeaderError('NOT_A_HEADER', 'the connection does not begin with a PROXY header');
}

function parseVersion1(header: Buffer): ProxyOrigin {
  const line = header.toString('latin1');
  if (/^PROXY UNKNOWN(?: [^\r\n]*)?\r\n$/.test(line)) return { kind: 'unknown' };
  const { inetProtocol, source } = parsed(() => V1ProxyProtocol.parse(line));
  const isRightFamily = inetProtocol === INETProtocol.TCP4 ? isIPv4(source.ipAddress) : isIPv6(source.ipAddress);
  if (!isRightFamily) throw new ProxyHeaderError('MALFORMED', `the source is no address of ${inetProtocol}`);
  return client(source.ipAddress, source.port);
}

function parseVersion2(header: Buffer): ProxyOrigin {
  const { command, addressFamilyType, transportProtocol, proxyAddress } = parsed(() => V2ProxyProtocol.parse(header));
  if (command === Command.LOCAL) return { kind: 'local' };
  if (addressFamilyType === AddressFamilyType.UNSPEC) return { kind: 'unknown' };
  if (transportProtocol !== TransportProtocol.STREAM) throw new ProxyHeaderError('UNSUPPORTED', 'only stream connections are served');
  if (proxyAddress instanceof IPv4ProxyAddress) return client(proxyAddress.sourceAddress.address.join('.'), proxyAddress.sourcePort);
  if (proxyAddress instanceof IPv6ProxyAddress) return client(ipv6Text(proxyAddress.sourceAddress.address), proxyAddress.sourcePort);
  throw new ProxyHeaderError('UNSUPPORTED', 'a unix address is no client');
}

/** The parser throws values that are no errors. */
function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new ProxyHeaderError('MALFORMED', 'the PROXY header does not parse', { cause });
  }
}

function client(address: string, port: number): ProxyOrigin {
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new ProxyHeaderError('MALFORMED', 'the source port is out of range');
  return { kind: 'client', ip: plainAddress(address), port };
}

function ipv6Text(bytes: readonly number[]): string {
  const hex = Buffer.from(bytes).toString('hex');
  return (hex.match(/.{4}/g) ?? []).join(':');
}

/** One text for one address: `::ffff:192.0.2.1` is `192.0.2.1`, IPv6 is in its short form. @returns '' for what is no address */
export function plainAddress(address: string): string {
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return '';
  const short = new SocketAddress({ address, family: 'ipv6' }).address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(short)?.[1];
  return mapped ?? short;
}
