import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Log } from '#shared/platform/log/log.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { ProxyHeaderError, ProxyHeaderReader } from './proxy-header.ts';
import type { ProxyHeader, ProxyOrigin } from './proxy-header.ts';
import type { ListenerSettings } from './settings.ts';
import type { TlsCertificate } from './tls-certificate.ts';
import type { Cancel, Timers } from './timer-wheel.ts';

export interface HandshakeDeps {
  readonly settings: Pick<ListenerSettings, 'proxyHeaderTimeoutMs' | 'tlsTimeoutMs'>;
  readonly timers: Timers;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly certificate: TlsCertificate;
  /** TLS stands. `realIp` is '' for a health check of the proxy. */
  readonly onSecure: (socket: TLSSocket, realIp: string) => void;
}

/**
 * CONNECTING: PROXY header within `proxyHeaderTimeoutMs`, then TLS within `tlsTimeoutMs`. No byte of TLS is looked at before
 * the header stands, so that a connection without one costs nothing (NET-09, NET-10, NET-13).
 */
export class Handshake {
  readonly #deps: HandshakeDeps;
  readonly #socket: Socket;
  readonly #onOver: () => void;
  readonly #header = new ProxyHeaderReader();
  readonly #startedMs = performance.now();
  #isOver = false;
  #cancel: Cancel | undefined;

  /** @param onOver called once, when TLS stands or the socket is gone */
  constructor(deps: HandshakeDeps, socket: Socket, onOver: () => void) {
    this.#deps = deps;
    this.#socket = socket;
    this.#onOver = onOver;
  }

  start(): void {
    const { timers, settings, metrics } = this.#deps;
    metrics.connections.inc({ state: 'CONNECTING' });
    this.#cancel = timers.after(settings.proxyHeaderTimeoutMs, () => this.#refuseHeader('timeout'));
    this.#socket.on('readable', this.#readHeader);
    this.#socket.on('error', () => this.#closed('CLIENT_GONE'));
    this.#socket.on('close', () => this.#closed('CLIENT_GONE'));
  }

  abandon(reason: string): void {
    this.#closed(reason);
    this.#socket.destroy();
  }

  // 'readable' and read(), not 'data': the bytes behind the header go back to the socket for TLS.
  readonly #readHeader = (): void => {
    for (let chunk = this.#read(); chunk !== undefined; chunk = this.#read()) {
      try {
        const header = this.#header.push(chunk);
        if (header !== undefined) {
          this.#startTls(header);
          return;
        }
      } catch (error) {
        if (!(error instanceof ProxyHeaderError)) throw error;
        this.#refuseHeader(error.reason.toLowerCase());
        return;
      }
    }
  };

  #read(): Buffer | undefined {
    const chunk: unknown = this.#isOver ? null : this.#socket.read();
    return Buffer.isBuffer(chunk) ? chunk : undefined;
  }

  #startTls({ origin, rest }: ProxyHeader): void {
    const { timers, settings, certificate } = this.#deps;
    this.#cancel?.();
    this.#cancel = timers.after(settings.tlsTimeoutMs, () => this.abandon('TLS_TIMEOUT'));
    this.#socket.removeListener('readable', this.#readHeader);
    if (rest.length > 0) this.#socket.unshift(rest);
    const secure = new TLSSocket(this.#socket, { isServer: true, secureContext: certificate.context });
    secure.on('error', () => this.abandon('TLS_FAILED'));
    secure.on('close', () => this.#closed('CLIENT_GONE'));
    secure.once('secure', () => this.#secured(secure, origin));
  }

  #secured(secure: TLSSocket, origin: ProxyOrigin): void {
    if (!this.#over()) return;
    this.#deps.metrics.handshakeSeconds.observe((performance.now() - this.#startedMs) / 1000);
    if (origin.kind === 'unknown') this.#countMissing('unknown');
    this.#deps.onSecure(secure, origin.kind === 'client' ? origin.ip : '');
  }

  #refuseHeader(reason: string): void {
    this.#countMissing(reason);
    this.abandon('PROXY_HEADER');
  }

  #countMissing(reason: string): void {
    this.#deps.metrics.realIpMissing.inc({ reason });
    this.#deps.log.warn({ reason }, 'a connection without a client address');
  }

  #closed(reason: string): void {
    if (this.#over()) this.#deps.metrics.closed.inc({ reason });
  }

  /** @returns false when it was over before */
  #over(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#cancel?.();
    this.#deps.metrics.connections.dec({ state: 'CONNECTING' });
    this.#onOver();
    return true;
  }
}
