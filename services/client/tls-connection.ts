import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';

/**
 * Where the appliance is. The name goes into SNI and is what the certificate must say; the address is where the connection goes.
 * The two are never looked up from one another: `*.localhost` and a name that has no DNS yet work as well.
 */
export interface Target {
  /** `HOST:PORT`, HOST an address or a name the machine's resolver knows; IPv6 in brackets. */
  readonly connect: string;
  readonly servername: string;
  /** PEM of the authority that signed the appliance's certificates. Undefined: the public ones. */
  readonly ca: string | undefined;
  /** Our own address, on a machine with several. Default: the kernel chooses. */
  readonly from?: string;
  /** Default 10,000 ms for TCP and TLS together. */
  readonly timeoutMs?: number;
}

/** @throws {Error} that says what did not work: address, refused, certificate, time */
export async function openTls({ connect, servername, ca, from, timeoutMs = 10_000 }: Target): Promise<TLSSocket> {
  const tcp = connectTcp({ ...addressOf(connect), noDelay: true, ...(from === undefined ? {} : { localAddress: from }) });
  const socket = connectTls({ socket: tcp, servername, ...(ca === undefined ? {} : { ca }) });
  const timer = setTimeout(() => socket.destroy(new Error(`no TLS connection to ${connect} within ${timeoutMs} ms`)), timeoutMs);
  try {
    await securely(socket, `${connect} (${servername})`);
  } finally {
    clearTimeout(timer);
  }
  return socket;
}

/** Waits for the handshake; a connection that only closes is an error too. */
async function securely(socket: TLSSocket, where: string): Promise<void> {
  const closed = once(socket, 'close').then(() => {
    throw new Error(`${where} closed the connection before TLS stood`);
  });
  closed.catch(() => undefined);
  await Promise.race([once(socket, 'secureConnect'), closed]);
}

/** @throws {Error} when it is not `HOST:PORT` */
export function addressOf(connect: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):([0-9]{1,5})$/.exec(connect);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port > 65_535) throw new Error(`"${connect}" is not HOST:PORT`);
  return { host, port };
}
