import type { FrameLimits } from '#shared/contract/frame-codec.ts';

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
