import { join } from 'node:path';
import type { Layout } from './layout.ts';
import type { Tree } from './rendered.ts';
import { kafkaProperties } from './render/kafka.ts';
import type { KafkaPropertiesOptions } from './render/kafka.ts';
import { mysqlConfig } from './render/mysql.ts';
import type { MysqlConfigOptions } from './render/mysql.ts';
import { nginxFiles } from './render/nginx.ts';
import { redisConfig } from './render/redis.ts';
import type { RedisConfigOptions } from './render/redis.ts';
import { hotgoAdminApi, imCore, migrate, outboxAndCron } from './render/services.ts';
import type { RenderInput } from './render/services.ts';

/** Every file that is derived from the settings. No secret is in any of them. */
export async function renderTree(input: RenderInput, hash: string): Promise<Tree> {
  const { settings, layout, certificates } = input;
  const origin = `from appliance.yml ${hash}; edits are lost`;
  const nginx = await nginxFiles({
    generated: `generated ${origin}`,
    layout: layout.nginx,
    names: settings.domain,
    certificates: certificates.files,
    addresses: { imTls: layout.coreTls.address, apiHttp: layout.coreHttp.address, adminHttp: layout.hotgoHttp.address },
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
    ['mysql.cnf', mysqlConfig({ generated: origin, ...mysqlPlaces(layout) })],
    ['redis.conf', redisConfig({ generated: origin, ...redisPlaces(layout) })],
    ['kafka.properties', kafkaProperties({ generated: origin, ...kafkaPlaces(layout) })],
    ...[...nginx].map(([path, text]): [string, string] => [`nginx/${path}`, text]),
  ]);
}

function mysqlPlaces({ mysql: { data, socket, tcp, temporary } }: Layout): Omit<MysqlConfigOptions, 'generated'> {
  return { dataDirectory: data, socketPath: socket, temporaryDirectory: temporary, ...(tcp === undefined ? {} : { tcp }) };
}

function redisPlaces({ redis: { data, socket, tcp }, state }: Layout): Omit<RedisConfigOptions, 'generated'> {
  return {
    dataDirectory: data,
    aclFile: join(state, 'redis/users.acl'),
    ...(socket === undefined ? {} : { socketPath: socket }),
    ...(tcp === undefined ? {} : { tcp }),
  };
}

function kafkaPlaces({ kafka: { data, listen, advertised, port, controllerPort } }: Layout): Omit<KafkaPropertiesOptions, 'generated'> {
  return { dataDirectory: data, address: listen, advertisedAddress: advertised, port, controllerPort };
}

function json(service: string, hash: string, origin: string, content: object): string {
  return `${JSON.stringify({ generated: origin, config_hash: hash, service, ...content }, null, 2)}\n`;
}
