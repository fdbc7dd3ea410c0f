import { INTERNAL_SCOPES } from '#shared/contract/internal-api.ts';
import { boolean, integer, list, text } from '#shared/platform/config/setting.ts';
import { authoredServices, renderedServices } from '#shared/platform/hmac/config.ts';

const CIDR = { pattern: /^[0-9a-fA-F.:]+\/\d{1,3}$/, description: 'a network such as 10.0.0.0/8 or fd00::/8' };

const common = {
  enabled: boolean('Whether other services may ask at /internal/admin-query/.', true),
  time_window_seconds: integer("How far a request's time may lie from ours, either way (s). Nonces are kept for twice that.", {
    default: 300,
    min: 10,
    max: 3_600,
  }),
};

/** As an operator writes it. @see SIG-02 @see SIG-15 */
export const internalApiAuthored = {
  ...common,
  allow_cidrs: list(
    'Networks from which /internal/ can be reached through the public port; for everybody else it does not exist (404).',
    text('network', { form: CIDR }),
    {
      default: [],
    },
  ),
  services: authoredServices(INTERNAL_SCOPES, { 'hotgo-admin': { allow: ['admin_query'] } }),
};

/** As im-core reads it. */
export const internalApiSection = { ...common, services: renderedServices };
