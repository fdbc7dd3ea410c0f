import type { FrameLimits } from '#shared/contract/frame-codec.ts';
import type { ConfigOf } from '#shared/platform/config/setting.ts';
import type { gatewaySection } from './config.ts';

/** Limits and waiting times of one connection (ms, bytes); each names what happens when it is hit in the file that uses it. */
export interface ConnectionSettings extends FrameLimits {
  readonly compressMinBytes: number;
  readonly authTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly halfFrameTimeoutMs: number;
  readonly pushAckTimeoutMs: number;
  readonly outboundFrames: number;
  readonly outboundBytes: number;
}

export interface ListenerSettings {
  /** `unix:/path` or `host:port`. */
  readonly listen: string;
  /** Owner of the unix socket (its mode is 0600), so that only the proxy's workers reach it. Ignored for host:port. */
  readonly socketOwnerUid: number | undefined;
  /** Addresses that may connect over TCP. A unix socket is guarded by its mode. */
  readonly proxyFrom: readonly string[];
  readonly keepaliveMs: number;
  readonly proxyHeaderTimeoutMs: number;
  readonly tlsTimeoutMs: number;
}

export interface GatewaySettings extends ConnectionSettings, ListenerSettings {}

/** The gateway's part of the rendered file. */
export function gatewaySettings(config: ConfigOf<typeof gatewaySection>): GatewaySettings {
  return {
    listen: config.listen,
    socketOwnerUid: config.socket_owner_uid,
    proxyFrom: config.proxy_from,
    keepaliveMs: config.keepalive_ms,
    proxyHeaderTimeoutMs: config.proxy_header_timeout_ms,
    tlsTimeoutMs: config.tls_timeout_ms,
    authTimeoutMs: config.auth_timeout_ms,
    idleTimeoutMs: config.idle_timeout_ms,
    halfFrameTimeoutMs: config.half_frame_timeout_ms,
    pushAckTimeoutMs: config.push_ack_timeout_ms,
    outboundFrames: config.outbound_frames,
    outboundBytes: config.outbound_bytes,
    maxBodyBytes: config.max_frame_size,
    compressMinBytes: config.compress_min_size,
  };
}
