import { join } from 'node:path';
import type { Tree } from './rendered.ts';
import { kafkaProperties } from './render/kafka.ts';
import { mysqlConfig } from './render/mysql.ts';
import { nginxFiles } from './render/nginx.ts';
import { redisConfig } from './render/redis.ts';
import { hotgoAdminApi, imCore, migrate, outboxAndCron } from './render/services.ts';
import type { RenderInput } from './render/services.ts';

/** Every file that is derived from the settings. No secret is in any of them. */
export async function renderTree(input: RenderInput, hash: string): Promise<Tree> {
  const { settings, layout, certificates } = input;
  const origin = `from appliance.yml ${hash}; edits are lost`;
  const data = (part: string): string => join(layout.home, 'data', part);
  const nginx = await nginxFiles({
    generated: `generated ${origin}`,
    layout: layout.nginx,
    names: settings.domain,
    certificates: certificates.files,
    addresses: { imTls: layout.coreTls, apiHttp: layout.coreHttp, adminHttp: layout.hotgoHttp },
    maxBodyBytes: settings.server.http.max_body_size,
    internalNetworks: {
      api: settings.internal_api.enabled ? settings.internal_api.allow_cidrs : [],
      admin: settings.admin_internal_api.enabled ? settings.internal_api.allow_cidrs : [],
    },
  });
  return new Map([
    ['im-core.json', json('im-core', hash, origin, imCore(input))],
    ['outbox-and-cron.json', json('outbox-and-cron', hash, origin, outboxAndCron(input))],
    ['hotgo-admin-api.json', json('hotgo-admin-api', hash, origin, hotgoAdminApi(input))],
    ['migrate.json', json('migrate', hash, origin, migrate(input))],
    ['mysql.cnf', mysqlConfig({ generated: origin, dataDirectory: data('mysql'), socketPath: layout.mysql.slice('unix:'.length) })],
    [
      'redis.conf',
      redisConfig({
        generated: origin,
        dataDirectory: data('redis'),
        socketPath: layout.redis.slice('unix:'.length),
        aclFile: join(layout.home, 'state/redis/users.acl'),
      }),
    ],
    ['kafka.properties', kafkaProperties({ generated: origin, dataDirectory: join(data('kafka'), 'log'), ...kafkaPorts(input) })],
    ...[...nginx].map(([path, text]): [string, string] => [`nginx/${path}`, text]),
  ]);
}

function kafkaPorts({ layout }: RenderInput): { readonly port: number; readonly controllerPort: number } {
  return { port: layout.ports.kafka, controllerPort: layout.ports.kafka_controller };
}

function json(service: string, hash: string, origin: string, content: object): string {
  return `${JSON.stringify({ generated: origin, config_hash: hash, service, ...content }, null, 2)}\n`;
}
