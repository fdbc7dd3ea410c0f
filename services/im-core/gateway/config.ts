import { bytes, duration, integer, list, rendered, text } from '#shared/platform/config/setting.ts';

/** The message gateway: accept, PROXY header, TLS, AUTH, frames. Each stage has its own limit. */
export const gatewaySection = {
  max_frame_size: bytes('Largest frame body, before and after inflating; a larger one ends the connection.', {
    default: 131_072,
    min: 8_192,
    max: 1_048_576,
  }),
  idle_timeout: duration('Silence after which a connection is closed. Clients send a heartbeat each 30s; Nginx gives up after 3600s.', {
    default: '120s',
    min: '10s',
    max: '3000s',
  }),
  keepalive: duration('How often the kernel asks whether a silent peer is still there (TCP keepalive).', {
    default: '30s',
    min: '1s',
    max: '3000s',
  }),
  compress_min_size: bytes('Bodies from this size on are deflated.', { default: 512, min: 64, max: 1_048_576 }),
  listen: rendered(text('unix:/path or host:port, behind Nginx')),
  socket_owner_uid: rendered(
    integer("Nginx's worker, the only one that may connect to a unix socket", { default: 33, min: 0, max: 4_294_967_294 }),
  ),
  proxy_from: rendered(list('whose PROXY header is believed: "unix", or addresses of Nginx', text('"unix" or an address'))),
  cert_file: rendered(text('certificate chain of the im name')),
  key_file: rendered(text('its key')),
  proxy_header_timeout: rendered(duration('accept until the PROXY header is complete', { default: '2s', min: '100ms', max: '60s' })),
  tls_timeout: rendered(duration('PROXY header until the TLS handshake is done', { default: '5s', min: '100ms', max: '60s' })),
  auth_timeout: rendered(duration('TLS until AUTH has succeeded', { default: '10s', min: '100ms', max: '60s' })),
  half_frame_timeout: rendered(duration('first byte of a frame until its last', { default: '15s', min: '100ms', max: '60s' })),
  outbound_frames: rendered(
    integer('frames queued for one slow client; at the limit pushes are dropped and it is told to sync', {
      default: 256,
      min: 1,
      max: 65_536,
    }),
  ),
  outbound_bytes: rendered(
    bytes('bytes queued for one slow client; the same limit in bytes', { default: 1_048_576, min: 65_536, max: 67_108_864 }),
  ),
  push_ack_timeout: rendered(
    duration('a pushed frame until its PUSH_ACK; then the device gets a mark to sync', { default: '10s', min: '100ms', max: '120s' }),
  ),
};
