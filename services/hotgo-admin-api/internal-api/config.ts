import { boolean, integer, text } from '#shared/platform/config/setting.ts';
import { authoredServices, renderedServices } from '#shared/platform/hmac/config.ts';

const SERVICE_NAME = { pattern: /^[a-z][a-z0-9-]{0,62}$/, description: 'a service name: small letters, digits and "-"' };

const common = {
  enabled: boolean('Whether im-core and other services may read configuration at /internal/im-config/.', true),
  time_window_seconds: integer("How far a request's time may lie from ours, either way (s).", { default: 300, min: 10, max: 3_600 }),
};

/** As an operator writes it. `service_name` and `timeout_ms` are the side that asks. @see CFG-47 .. CFG-51 */
export const adminInternalApiAuthored = {
  ...common,
  service_name: text('Name under which im-core asks; one of the services below.', { default: 'im-server', form: SERVICE_NAME }),
  timeout_ms: integer('How long im-core waits for an answer (ms).', { default: 3_000, min: 100, max: 60_000 }),
  services: authoredServices(['im_config'], { 'im-server': { allow: ['im_config'] } }),
};

/** As hotgo-admin-api reads it. */
export const adminInternalApiSection = { ...common, services: renderedServices };
