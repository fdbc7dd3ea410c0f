import { bytes, integer, rendered, text } from '../config/setting.ts';

/** A door for HTTP behind Nginx. */
export const httpSection = {
  listen: rendered(text('unix:/path or host:port')),
  socket_owner_uid: rendered(
    integer("Nginx's worker, who must be able to connect to a unix socket", { default: 33, min: 0, max: 4_294_967_294 }),
  ),
  max_body_size: bytes('Largest HTTP request body; Nginx and the services refuse more with 413.', {
    default: 1_048_576,
    min: 65_536,
    max: 16_777_216,
  }),
};

/** The door for health and metrics; never public. */
export const opsSection = {
  listen: rendered(text('unix:/path or host:port')),
};
