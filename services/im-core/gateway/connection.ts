import { FrameError, MAX_SEQUENCE_ID } from '#shared/contract/frame.ts';
import type { Frame } from '#shared/contract/frame.ts';
import { encodePacked, FrameReader } from '#shared/contract/frame-codec.ts';
import type { PackedBody } from '#shared/contract/frame-codec.ts';
import { kickFrame, syncRequiredFrame } from '#shared/contract/frame-body.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { BodyPacker } from './body-packer.ts';
import { commandLabel } from './gateway-metrics.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import { OutboundQueue } from './outbound-queue.ts';
import type { Transport } from './outbound-queue.ts';
import { PushAcks } from './push-acks.ts';
import type { Identity, OutFrame, PushExpectation, Session } from './session.ts';
import type { ConnectionSettings } from './settings.ts';
import type { Cancel, Timers } from './timer-wheel.ts';

/**
 * One client, from a finished TLS handshake to the end.
 *
 *   CONNECTING  PROXY header and TLS (listener.ts; no Connection yet)
 *   CONNECTED   AUTH is awaited, `authTimeoutMs` long
 *   AUTHENTICATED  the session exists and may receive pushes, AUTH is not answered yet
 *   ACTIVE      AUTH is answered
 *   CLOSING     nothing is read any more, what is queued leaves
 *   CLOSED      the transport is gone; `onClose` was called once
 *
 * @see SES-11
 */
export type ConnectionState = 'CONNECTED' | 'AUTHENTICATED' | 'ACTIVE' | 'CLOSING' | 'CLOSED';

export interface ConnectionDeps {
  readonly settings: ConnectionSettings;
  readonly timers: Timers;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: GatewayMetrics;
  readonly packer: BodyPacker;
  readonly schedule: (task: () => void) => void;
  /** A whole frame came. Must not throw and must not block (FRM-12, FRM-13). */
  readonly onFrame: (connection: Connection, frame: Frame) => void;
  /** Once per connection, after its last byte. */
  readonly onClose: (connection: Connection, reason: string) => void;
}

export interface ConnectionSubject {
  readonly id: string;
  /** '' for the proxy's own health check: it may shake hands, never log in. */
  readonly realIp: string;
  readonly transport: Transport;
}

export class Connection {
  readonly id: string;
  readonly realIp: string;
  readonly #deps: ConnectionDeps;
  readonly #transport: Transport;
  readonly #reader: FrameReader;
  readonly #outbound: OutboundQueue;
  readonly #pushAcks: PushAcks;
  #state: ConnectionState = 'CONNECTED';
  #session: Session | undefined;
  #isAuthClaimed = false;
  #closeReason = 'CLIENT_GONE';
  #lastFrameMs: number;
  #pushSequence = 0;
  #cancelAuth: Cancel;
  #cancelIdle: Cancel;
  #cancelHalfFrame: Cancel | undefined;
  #cancelClosing: Cancel | undefined;

  constructor(deps: ConnectionDeps, { id, realIp, transport }: ConnectionSubject) {
    const { settings, timers, schedule, metrics } = deps;
    this.#deps = deps;
    this.id = id;
    this.realIp = realIp;
    this.#transport = transport;
    this.#reader = new FrameReader(settings);
    this.#outbound = new OutboundQueue({ transport, limits: settings, schedule, onRoom: () => this.#requireSync() });
    this.#pushAcks = new PushAcks(timers, settings.pushAckTimeoutMs);
    this.#lastFrameMs = timers.nowMs();
    this.#cancelAuth = timers.after(settings.authTimeoutMs, () => this.close('AUTH_TIMEOUT'));
    this.#cancelIdle = timers.after(settings.idleTimeoutMs, () => this.#checkIdle());
    metrics.connections.inc({ state: 'CONNECTED' });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  get isOpen(): boolean {
    return this.#state !== 'CLOSING' && this.#state !== 'CLOSED';
  }

  /** Bytes from the transport, TLS removed. */
  receive(chunk: Buffer): void {
    const { metrics, onFrame } = this.#deps;
    const startedMs = performance.now();
    metrics.bytesIn.inc(chunk.length);
    try {
      for (const frame of this.#reader.read(chunk)) {
        if (!this.isOpen) return;
        this.#lastFrameMs = this.#deps.timers.nowMs();
        metrics.framesIn.inc({ command: commandLabel(frame.command) });
        this.#cancelHalf();
        onFrame(this, frame);
      }
    } catch (error) {
      this.#refuseBytes(error);
    }
    this.#watchHalfFrame();
    metrics.reactSeconds.observe((performance.now() - startedMs) / 1000);
  }

  /** Answers a request: RequestID and SequenceID are the request's. Never dropped; a client that leaves its answers unread is closed. */
  reply(request: Frame, command: number, body: Buffer): void {
    if (!this.isOpen) return;
    const bytes = this.#encode(command, request.requestId, request.sequenceId, this.#deps.packer.pack(body));
    if (!this.#outbound.offerReply(bytes)) this.#abort('SLOW_CONSUMER');
  }

  /** True for the first caller: a connection authenticates once (SES-12). */
  claimAuth(): boolean {
    const isFirst = !this.#isAuthClaimed;
    this.#isAuthClaimed = true;
    return isFirst;
  }

  /** Gives the connection its identity; from here on it can be pushed to. @throws when it has one, or is closing */
  authenticated(identity: Identity): Session {
    if (this.#state !== 'CONNECTED') throw new Error(`a connection that is ${this.#state} cannot authenticate`);
    this.#cancelAuth();
    this.#enter('AUTHENTICATED');
    this.#session = new ConnectionSession(this, identity);
    return this.#session;
  }

  /** AUTH was answered. */
  activate(): void {
    if (this.#state === 'AUTHENTICATED') this.#enter('ACTIVE');
  }

  /** @see Session.push */
  push({ command, body }: OutFrame, expectation?: PushExpectation): boolean {
    if (!this.isOpen) return false;
    const { packer, metrics, settings } = this.#deps;
    this.#pushSequence = this.#pushSequence === MAX_SEQUENCE_ID ? 1 : this.#pushSequence + 1;
    const bytes = this.#encode(command, 0n, this.#pushSequence, packer.packShared(body));
    if (body.length > settings.maxBodyBytes || !this.#outbound.offerPush(bytes)) {
      metrics.outboundDropped.inc();
      return false;
    }
    if (expectation !== undefined) this.#expectAck(this.#pushSequence, expectation);
    return true;
  }

  /** PUSH_ACK for the push with this number. */
  acknowledge(sequenceId: number): void {
    this.#pushAcks.acknowledge(sequenceId);
  }

  kick(reason: string): void {
    this.push(kickFrame(reason));
    this.close(`KICK_${reason}`);
  }

  /** Lets the queue leave, then ends the transport; after `CLOSE_GRACE_MS` without regard to the client. */
  close(reason: string): void {
    if (!this.isOpen) return;
    this.#closeReason = reason;
    this.#outbound.flush();
    this.#enter('CLOSING');
    this.#cancelTimers();
    this.#cancelClosing = this.#deps.timers.after(CLOSE_GRACE_MS, () => this.#transport.destroy());
    this.#transport.end();
  }

  /** The transport is gone, by our will or not. Idempotent. */
  ended(reason?: string): void {
    if (this.#state === 'CLOSED') return;
    if (this.isOpen && reason !== undefined) this.#closeReason = reason;
    this.#enter('CLOSED');
    this.#cancelTimers();
    this.#cancelClosing?.();
    this.#pushAcks.abandon();
    this.#deps.metrics.closed.inc({ reason: this.#closeReason });
    this.#logEnd();
    this.#deps.onClose(this, this.#closeReason);
  }

  #encode(command: number, requestId: bigint, sequenceId: number, body: PackedBody): Buffer {
    this.#deps.metrics.framesOut.inc({ command: commandLabel(command) });
    return encodePacked({ command, requestId, sequenceId }, body);
  }

  #expectAck(sequenceId: number, expectation: PushExpectation): void {
    this.#pushAcks.expect(sequenceId, {
      onTimeout: () => {
        this.#deps.metrics.pushAckTimeouts.inc();
        expectation.onTimeout();
      },
    });
  }

  #requireSync(): void {
    if (this.#session !== undefined) this.push(syncRequiredFrame(this.#session.tenant, this.#deps.clock.now()));
  }

  #refuseBytes(error: unknown): void {
    if (!(error instanceof FrameError)) throw error;
    this.close(`FRAME_${error.reason}`);
  }

  #watchHalfFrame(): void {
    if (!this.isOpen || !this.#reader.isInFrame) return;
    this.#cancelHalfFrame ??= this.#deps.timers.after(this.#deps.settings.halfFrameTimeoutMs, () => this.close('HALF_FRAME'));
  }

  #cancelHalf(): void {
    this.#cancelHalfFrame?.();
    this.#cancelHalfFrame = undefined;
  }

  /** Moves on to the moment when the last frame will be old enough, so that a frame costs no timer. */
  #checkIdle(): void {
    const { timers, settings } = this.#deps;
    const leftMs = this.#lastFrameMs + settings.idleTimeoutMs - timers.nowMs();
    if (leftMs <= 0) this.close('IDLE');
    else this.#cancelIdle = timers.after(leftMs, () => this.#checkIdle());
  }

  #abort(reason: string): void {
    this.#closeReason = reason;
    this.#enter('CLOSING');
    this.#cancelTimers();
    this.#transport.destroy();
  }

  #cancelTimers(): void {
    this.#cancelAuth();
    this.#cancelIdle();
    this.#cancelHalf();
  }

  #enter(state: ConnectionState): void {
    this.#deps.metrics.connections.dec({ state: this.#state });
    if (state !== 'CLOSED') this.#deps.metrics.connections.inc({ state });
    this.#state = state;
  }

  #logEnd(): void {
    const user =
      this.#session === undefined ? {} : { user_id: this.#session.userId.toString(), device_id: this.#session.deviceId.toString() };
    this.#deps.log.info({ connection_id: this.id, real_ip: this.realIp, reason: this.#closeReason, ...user }, 'connection closed');
  }
}

/** How long a client that does not read may hold a closing connection (ms). */
const CLOSE_GRACE_MS = 2000;

class ConnectionSession implements Session {
  readonly tenant: string;
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly #connection: Connection;

  constructor(connection: Connection, { tenant, userId, deviceId }: Identity) {
    this.#connection = connection;
    this.tenant = tenant;
    this.userId = userId;
    this.deviceId = deviceId;
  }

  get connectionId(): string {
    return this.#connection.id;
  }

  get realIp(): string {
    return this.#connection.realIp;
  }

  push(frame: OutFrame, expectation?: PushExpectation): boolean {
    return this.#connection.push(frame, expectation);
  }

  kick(reason: string): void {
    this.#connection.kick(reason);
  }

  close(reason: string): void {
    this.#connection.close(reason);
  }
}
