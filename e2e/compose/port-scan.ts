import { connect } from 'node:net';

const AT_A_TIME = 256;
/** Where nobody answers at all the packet is dropped. */
const SILENCE_MS = 1_500;

/** Ports of an address that take a connection. */
export async function openPorts(host: string, ports: Iterable<number>): Promise<readonly number[]> {
  const pending = ports[Symbol.iterator]();
  const open: number[] = [];
  const worker = async (): Promise<void> => {
    for (let next = pending.next(); next.done !== true; next = pending.next()) {
      if (await isOpen(host, next.value)) open.push(next.value);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return open.sort((a, b) => a - b);
}

function isOpen(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port });
  socket.setTimeout(SILENCE_MS, () => resolve(false));
  socket.on('error', () => resolve(false));
  socket.on('connect', () => resolve(true));
  return promise.finally(() => socket.destroy());
}

export function* range(first: number, last: number): Generator<number> {
  for (let port = first; port <= last; port += 1) yield port;
}
