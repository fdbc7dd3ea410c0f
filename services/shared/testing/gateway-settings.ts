import type { GatewaySettings } from '../../im-core/gateway/settings.ts';

/** A gateway as it is shipped; the test says where it listens. */
export const GATEWAY_SETTINGS: Omit<GatewaySettings, 'listen'> = {
  socketOwnerUid: undefined,
  proxyFrom: [],
  keepaliveMs: 30_000,
  proxyHeaderTimeoutMs: 2000,
  tlsTimeoutMs: 5000,
  authTimeoutMs: 10_000,
  idleTimeoutMs: 120_000,
  halfFrameTimeoutMs: 15_000,
  pushAckTimeoutMs: 10_000,
  outboundFrames: 256,
  outboundBytes: 1_048_576,
  maxBodyBytes: 131_072,
  compressMinBytes: 512,
};
