import type { TLSSocket } from 'node:tls';
import { monotonicFactory } from 'ulid';
import type { Frame } from '#shared/contract/frame.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import { BodyPacker } from './body-packer.ts';
import { Connection } from './connection.ts';
import type { ConnectionDeps } from './connection.ts';
import { gatewayMetrics } from './gateway-metrics.ts';
import { Listener } from './listener.ts';
import type { GatewaySettings } from './settings.ts';
import { TlsCertificate } from './tls-certificate.ts';
import type { CertificatePair } from './tls-certificate.ts';
import { tlsTransport } from './tls-transport.ts';
import { TimerWheel } from './timer-wheel.ts';

export interface GatewayDeps {
  readonly settings: GatewaySettings;
  readonly certificate: CertificatePair;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** @see ConnectionDeps */
  readonly onFrame: (connection: Connection, frame: Frame) => void;
  readonly onClose: (connection: Connection, reason: string) => void;
  /** Tests turn their own wheel; without one the gateway runs a wheel on the machine's clock. */
  readonly timers?: TimerWheel;
}

/** The door of the IM protocol: bytes in, frames out. Knows no message, user or table. */
export class Gateway implements Part {
  readonly name = 'gateway';
  readonly #deps: GatewayDeps;
  readonly #wheel: TimerWheel;
  readonly #certificate: TlsCertificate;
  readonly #listener: Listener;
  readonly #connectionDeps: ConnectionDeps;
  readonly #connections = new Set<Connection>();
  /** Sorts by age, over all processes of a machine: the newest connection of a device wins. */
  readonly #nextId = monotonicFactory();
  #onEmpty: (() => void) | undefined;

  /** @throws when certificate and key do not match */
  constructor(deps: GatewayDeps) {
    const { settings, clock, log } = deps;
    this.#deps = deps;
    this.#wheel = deps.timers ?? new TimerWheel();
    this.#certificate = new TlsCertificate(deps.certificate);
    const shared = { timers: this.#wheel, log, metrics: gatewayMetrics(deps.metrics) };
    this.#connectionDeps = {
      ...shared,
      settings,
      clock,
      packer: new BodyPacker(settings.compressMinBytes),
      schedule: setImmediate,
      onFrame: deps.onFrame,
      onClose: (connection, reason) => this.#closed(connection, reason),
    };
    this.#listener = new Listener({
      ...shared,
      settings,
      certificate: this.#certificate,
      onSecure: (socket, realIp) => this.#open(socket, realIp),
    });
  }

  async start(): Promise<void> {
    await this.#listener.start();
    if (this.#deps.timers === undefined) this.#wheel.start();
  }

  /** Sends every client KICK SHUTDOWN, so that it reconnects, and waits until all are gone (CLOSE_GRACE_MS at most). */
  async stop(): Promise<void> {
    this.#listener.stop();
    const empty = new Promise<void>((resolve) => (this.#onEmpty = resolve));
    for (const connection of this.#connections) connection.kick('SHUTDOWN');
    if (this.#connections.size > 0) await empty;
    this.#wheel.stop();
  }

  address(): string {
    return this.#listener.address();
  }

  /** Takes a renewed certificate for handshakes to come. @throws when it does not match its key; the old one stays */
  replaceCertificate(pair: CertificatePair): void {
    this.#certificate.replace(pair);
  }

  #open(socket: TLSSocket, realIp: string): void {
    const transport = tlsTransport(socket, this.#connectionDeps.metrics);
    const connection = new Connection(this.#connectionDeps, { id: this.#nextId(), realIp, transport });
    this.#connections.add(connection);
    socket.on('data', (chunk: Buffer) => connection.receive(chunk));
    socket.on('error', () => connection.ended('CLIENT_GONE'));
    socket.on('close', () => connection.ended());
  }

  #closed(connection: Connection, reason: string): void {
    this.#connections.delete(connection);
    this.#deps.onClose(connection, reason);
    if (this.#connections.size === 0) this.#onEmpty?.();
  }
}
