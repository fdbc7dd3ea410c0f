import { chmod, chown, lstat, unlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Part } from '../lifecycle/lifecycle.ts';
import { parseListenAddress } from './listen-address.ts';
import type { ListenAddress } from './listen-address.ts';

export interface HttpServerSettings {
  readonly name: string;
  /** `unix:/path` or `host:port`. */
  readonly listen: string;
  /** Mode of the unix socket. Default 0o660. */
  readonly socketMode?: number;
  /** Owner of the unix socket, when the one who connects (nginx's worker) is another user than we. */
  readonly socketOwnerUid?: number;
  /** How long running requests may go on after `stop` (ms). Default 10,000; then their sockets are cut. */
  readonly drainMs?: number;
}

/**
 * A door: opened by `start`, closed by `stop`. Closing refuses new connections at once, tells kept-alive peers to go
 * (`Connection: close`), lets running requests finish and cuts what is left after `drainMs`.
 */
export class HttpServer implements Part {
  readonly name: string;
  readonly #settings: HttpServerSettings;
  readonly #address: ListenAddress;
  readonly #server: Server;
  #stopping = false;

  constructor(settings: HttpServerSettings, listener: RequestListener) {
    this.name = settings.name;
    this.#settings = settings;
    this.#address = parseListenAddress(settings.listen);
    this.#server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000 }, (request, response) => {
      if (this.#stopping) response.setHeader('Connection', 'close');
      listener(request, response);
    });
  }

  /** `unix:/path` or `host:port` as bound; the port is the real one when 0 was asked for. */
  get address(): string {
    if ('path' in this.#address) return `unix:${this.#address.path}`;
    const bound = this.#server.address() as AddressInfo | null;
    return `${this.#address.host}:${bound?.port ?? this.#address.port}`;
  }

  /** @throws the error of listen: address in use, no permission, path too long */
  async start(): Promise<void> {
    const address = this.#address;
    if ('path' in address) await removeStaleSocket(address.path);
    await listen(this.#server, address);
    if ('path' in address) await this.#openSocketFile(address.path);
  }

  async #openSocketFile(path: string): Promise<void> {
    const { socketMode = 0o660, socketOwnerUid } = this.#settings;
    if (socketOwnerUid !== undefined) await chown(path, socketOwnerUid, process.getgid?.() ?? 0);
    await chmod(path, socketMode);
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#stopping = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    // A connection that is idle only later, between its answer and the peer's FIN, would hold `close` open.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 100);
    const cut = setTimeout(() => this.#server.closeAllConnections(), this.#settings.drainMs ?? 10_000);
    await closed;
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

async function listen(server: Server, address: ListenAddress): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A process that was killed leaves its socket file behind; it goes when nobody answers on it. A live one stays, and listen reports it. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSocket() === true && !(await answers(path))) await unlink(path);
}

async function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
