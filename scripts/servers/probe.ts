import { connect } from 'node:net';
import type { NetConnectOpts } from 'node:net';

/**
 * Whether a server answers: connects, says `send` and waits for a reply that starts with one of `expect`.
 * Without `expect` an accepted connection is enough. Never throws.
 */
export async function answers(target: NetConnectOpts, send = '', expect?: RegExp, deadlineMs = 1_000): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(target);
  socket.setTimeout(deadlineMs, () => resolve(false));
  socket.on('error', () => resolve(false));
  socket.on('close', () => resolve(false));
  socket.on('connect', () => {
    if (send !== '') socket.write(send);
    if (expect === undefined) resolve(true);
  });
  socket.on('data', (bytes) => resolve(expect?.test(bytes.toString('latin1')) ?? true));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}
