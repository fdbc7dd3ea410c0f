import type { Counter, Gauge, Histogram } from 'prom-client';
import { commandName } from '#shared/contract/commands.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';

/** Figures of the gateway. @see OBS-02 OBS-03 OBS-08 OBS-10 */
export interface GatewayMetrics {
  readonly connections: Gauge<'state'>;
  readonly accepted: Counter;
  readonly closed: Counter<'reason'>;
  readonly framesIn: Counter<'command'>;
  readonly framesOut: Counter<'command'>;
  readonly bytesIn: Counter;
  readonly bytesOut: Counter;
  readonly handshakeSeconds: Histogram;
  readonly reactSeconds: Histogram;
  readonly outboundDropped: Counter;
  readonly pushAckTimeouts: Counter;
  readonly realIpMissing: Counter<'reason'>;
}

export function gatewayMetrics(metrics: Metrics): GatewayMetrics {
  return {
    connections: metrics.gauge('tcp_connections', 'Open connections by state.', ['state']),
    accepted: metrics.counter('tcp_accepted_total', 'Connections accepted from the proxy.'),
    closed: metrics.counter('tcp_closed_total', 'Connections closed, by reason.', ['reason']),
    framesIn: metrics.counter('tcp_frames_in_total', 'Frames received, by command.', ['command']),
    framesOut: metrics.counter('tcp_frames_out_total', 'Frames queued for sending, by command.', ['command']),
    bytesIn: metrics.counter('tcp_bytes_in_total', 'Bytes received behind TLS.'),
    bytesOut: metrics.counter('tcp_bytes_out_total', 'Bytes handed to TLS.'),
    handshakeSeconds: metrics.histogram('tcp_handshake_seconds', 'From accept to a finished TLS handshake.'),
    reactSeconds: metrics.histogram('eventloop_react_seconds', 'Time one read keeps the event loop.', [], REACT_SECONDS),
    outboundDropped: metrics.counter('outbound_drop_total', 'Pushes dropped because the outbound queue was full.'),
    pushAckTimeouts: metrics.counter('push_ack_timeout_total', 'Pushes that nobody acknowledged in time.'),
    realIpMissing: metrics.counter('realip_missing_total', 'Connections whose PROXY header was missing, late, wrong or without a client.', [
      'reason',
    ]),
  };
}

/** A label of bounded range: a client may send any number. */
export function commandLabel(command: number): string {
  return commandName(command) ?? 'unknown';
}

const REACT_SECONDS = [0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5];
