import type { TLSSocket } from 'node:tls';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Transport } from './outbound-queue.ts';

/** A TLS socket as a connection sees it. */
export function tlsTransport(socket: TLSSocket, { bytesOut }: Pick<GatewayMetrics, 'bytesOut'>): Transport {
  return {
    write: (bytes, done) => {
      bytesOut.inc(bytes.length);
      socket.write(bytes, () => done());
    },
    end: () => socket.end(),
    destroy: () => socket.destroy(),
  };
}
