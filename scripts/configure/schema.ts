/**
 * What an operator may write in appliance.yml: the sections of all rooms, joined. The check with its suggestions, the defaults, the shipped
 * file, the published JSON Schema and what the services read all come from these declarations.
 */
import { adminSection } from '../../services/hotgo-admin-api/admin-api/config.ts';
import { adminInternalApiAuthored } from '../../services/hotgo-admin-api/internal-api/config.ts';
import { rateLimitSection, taskPoolSection } from '../../services/im-core/commands/config.ts';
import { domainSection } from '../../services/im-core/config.ts';
import { deliverSection } from '../../services/im-core/deliver/config.ts';
import { gatewaySection } from '../../services/im-core/gateway/config.ts';
import { internalApiAuthored } from '../../services/im-core/internal-api/config.ts';
import { authSection } from '../../services/im-core/public-api/config.ts';
import { integer, optional, refused, text } from '#shared/platform/config/setting.ts';
import type { ConfigOf } from '#shared/platform/config/setting.ts';
import { httpSection } from '#shared/platform/http/config.ts';
import { idSection } from '#shared/platform/id/config.ts';
import { kafkaSection } from '#shared/platform/kafka/config.ts';
import { logSection } from '#shared/platform/log/config.ts';
import { messageSection, tenantsSetting } from '#shared/tenant/config.ts';

/** The path becomes a word in Nginx's files, where these characters end a word or mean something. */
const PATH = { pattern: /^\/[^\0-\x20"'$;{}\\#\x7f]+$/, description: 'an absolute path without spaces, quotes and any of $ ; { } \\ #' };
const OURS = 'addresses, logins and paths between our own parts are made by configure; only the public port is yours (port)';

const ownCertificate = (name: string) =>
  optional(`Your own certificate for the ${name} name. Without it the appliance's CA makes one (state/ca.pem is what clients trust).`, {
    cert_file: text('Certificate chain, PEM, leaf first.', { form: PATH }),
    key_file: text('Its private key, PEM, without a password.', { form: PATH }),
  });

export const operatorSchema = {
  domain: domainSection,
  port: integer('The one public port (TCP).', { default: 443, min: 1, max: 65_535 }),
  tls: { api: ownCertificate('api'), im: ownCertificate('im'), admin: ownCertificate('admin') },
  tenants: tenantsSetting,
  auth: authSection,
  admin: adminSection,
  message: messageSection,
  rate_limit: rateLimitSection,
  server: {
    http: { ...httpSection, addr: refused(OURS) },
    tcp: {
      ...gatewaySection,
      addr: refused(OURS),
      tls: refused('write your own certificates under tls, by name (tls.im)'),
      proxy_protocol: refused('always on: Nginx tells the gateway the address of the client, and nobody else may connect'),
      multicore: refused('one process uses one core; im_core.processes is what will use more'),
      recv_buffer: refused('the kernel sizes socket buffers by itself'),
      send_buffer: refused('the kernel sizes socket buffers by itself; what waits for a slow client is limited in frames and bytes'),
    },
  },
  taskpool: taskPoolSection,
  deliver: {
    ...deliverSection,
    done_ttl: refused('a job is known as done by its place in the chain of its conversation, which does not expire'),
  },
  kafka: kafkaSection,
  internal_api: internalApiAuthored,
  admin_internal_api: {
    ...adminInternalApiAuthored,
    base_url: refused(OURS),
    secret: refused('keys belong to a service: write admin_internal_api.services.im-server.keys'),
  },
  id: idSection,
  im_core: {
    processes: integer('Processes of im-core. This version runs one.', { default: 1, min: 1, max: 1 }),
  },
  log: logSection,
  mysql: refused(`${OURS}; an existing MySQL server is not yet supported`),
  redis: refused(`${OURS}, and the queues have fixed names; an existing Redis server is not yet supported`),
  external: refused('existing MySQL, Redis or Kafka servers are not yet supported'),
};

/** What a correct appliance.yml says, with defaults filled in, durations in ms and byte counts in bytes. */
export type Settings = ConfigOf<typeof operatorSchema, 'authored'>;

/** What stands above each section in the shipped file. */
export const SECTION_DOCS: Readonly<Record<string, string>> = {
  domain:
    'The three names that share the public port. They must resolve to this machine; names under .localhost already do in browsers on it.',
  tls: "Your own certificates, by name. They are read where they lie, checked, and never changed. A name without one gets a certificate of the appliance's own CA; state/ca.pem is what clients trust then.",
  auth: 'Accounts and sessions of users.',
  admin: 'Administrators of the back office.',
  'admin.first_admin': 'The first administrator.',
  message: 'Messages.',
  rate_limit: 'What one device may do.',
  server: 'The doors.',
  'server.http': 'HTTPS.',
  'server.tcp': 'The message gateway.',
  taskpool: 'Work on client commands.',
  deliver: 'Delivery of messages to devices.',
  kafka: 'Commands and events.',
  internal_api: 'Signed questions of other services to im-core.',
  admin_internal_api: 'Signed questions of im-core and others to the back office.',
  id: 'Message ids.',
  im_core: 'The message server.',
  log: 'Logs: JSON, one line an event, capped by size.',
};
