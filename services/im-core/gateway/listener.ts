import { chownSync, existsSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { once } from 'node:events';
import { parseListenAddress } from '#shared/platform/http/listen-address.ts';
import { Handshake } from './handshake.ts';
import type { HandshakeDeps } from './handshake.ts';
import { plainAddress } from './proxy-header.ts';
import type { ListenerSettings } from './settings.ts';

export interface ListenerDeps extends HandshakeDeps {
  readonly settings: ListenerSettings;
}

/** Accepts connections from the proxy and from nobody else, and starts their handshake. */
export class Listener {
  readonly #deps: ListenerDeps;
  readonly #server: Server;
  readonly #handshakes = new Set<Handshake>();

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: deps.settings.keepaliveMs }, (socket) => {
      this.#accept(socket);
    });
  }

  /** @throws when the address is taken */
  async start(): Promise<void> {
    const { listen, socketOwnerUid } = this.#deps.settings;
    const address = parseListenAddress(listen);
    if (!('path' in address)) {
      await listening(this.#server, () => this.#server.listen(address));
      return;
    }
    const { path } = address;
    // A socket file left by a killed process answers nobody; the supervisor runs one process per path.
    if (existsSync(path)) rmSync(path);
    await listening(this.#server, () => listenPrivately(this.#server, path));
    if (socketOwnerUid !== undefined) chownSync(path, socketOwnerUid, socketOwnerUid);
  }

  /** No new connection from here on; open ones are their owner's. */
  stop(): void {
    this.#server.close();
    for (const handshake of this.#handshakes) handshake.abandon('SHUTDOWN');
  }

  /** Where it listens; the port is the real one when 0 was asked for. */
  address(): string {
    const address = this.#server.address();
    if (address === null) throw new Error('the listener is not started');
    return typeof address === 'string' ? `unix:${address}` : `${address.address}:${address.port}`;
  }

  #accept(socket: Socket): void {
    const { metrics, log, settings } = this.#deps;
    const peer = plainAddress(socket.remoteAddress ?? '');
    if (!settings.listen.startsWith('unix:') && !settings.proxyFrom.includes(peer)) {
      metrics.realIpMissing.inc({ reason: 'untrusted_peer' });
      log.warn({ peer }, 'refused a connection that does not come from the proxy');
      socket.destroy();
      return;
    }
    metrics.accepted.inc();
    const handshake: Handshake = new Handshake(this.#deps, socket, () => this.#handshakes.delete(handshake));
    this.#handshakes.add(handshake);
    handshake.start();
  }
}

async function listening(server: Server, listen: () => void): Promise<void> {
  const isListening = once(server, 'listening'); // rejects on 'error'
  listen();
  await isListening;
}

/** The socket file is made with mode 0600 from its first moment: binding happens inside this call. */
function listenPrivately(server: Server, path: string): void {
  const umask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(umask);
  }
}
