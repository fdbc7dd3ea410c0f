import { join } from 'node:path';
import { PreflightError } from './problems.ts';

export type Runtime = 'process' | 'compose';

/** Loopback ports of the process runtime, chosen once and kept in state/ports.json. */
export interface Ports {
  readonly kafka: number;
  readonly kafka_controller: number;
}

/** Where every part is. All that differs between the runtimes. */
export interface Layout {
  readonly home: string;
  /** `unix:/path` or `host:port`. */
  readonly mysql: string;
  readonly redis: string;
  readonly kafkaBroker: string;
  readonly ports: Ports;
  readonly coreTls: string;
  readonly coreHttp: string;
  readonly coreOps: string;
  readonly outboxOps: string;
  readonly hotgoHttp: string;
  readonly hotgoOps: string;
  /** Whose PROXY header the gateway believes. */
  readonly proxyFrom: readonly string[];
  readonly nginx: NginxLayout;
}

export interface NginxLayout {
  /** Whether stream is a module that must be loaded, as Debian ships it. */
  readonly streamModule: string | undefined;
  readonly workerUser: string;
  readonly workerUid: number;
  /** `listen` of the public port: the port itself, or where it is published to. */
  readonly listenPort: number;
  readonly isIpv6: boolean;
  /** Sockets and temporary files. */
  readonly run: string;
  /** Name server for addresses that are names. */
  readonly resolver: string | undefined;
}

/** A socket's path must fit the kernel's structure, with its closing zero byte. */
const MAX_SOCKET_PATH_BYTES = 107;

export interface ProcessOptions {
  readonly home: string;
  readonly ports: Ports;
  readonly publicPort: number;
  readonly isIpv6: boolean;
}

/** @throws {PreflightError} when the home's path is too long for its sockets */
export function processLayout({ home, ports, publicPort, isIpv6 }: ProcessOptions): Layout {
  const run = join(home, 'run');
  const socket = (name: string): string => {
    const path = join(run, name);
    const excess = Buffer.byteLength(path) - MAX_SOCKET_PATH_BYTES;
    if (excess > 0) throw new PreflightError(`the path of the appliance's home is ${excess} bytes too long for unix sockets: ${home}`);
    return `unix:${path}`;
  };
  return {
    home,
    mysql: socket('mysql.sock'),
    redis: socket('redis.sock'),
    kafkaBroker: `127.0.0.1:${ports.kafka}`,
    ports,
    coreTls: socket('im-core-tls.sock'),
    coreHttp: socket('im-core-http.sock'),
    coreOps: socket('im-core-ops.sock'),
    outboxOps: socket('outbox-and-cron-ops.sock'),
    hotgoHttp: socket('hotgo-admin-api-http.sock'),
    hotgoOps: socket('hotgo-admin-api-ops.sock'),
    proxyFrom: ['unix'],
    nginx: {
      streamModule: '/usr/lib/nginx/modules/ngx_stream_module.so',
      workerUser: 'www-data',
      workerUid: 33,
      listenPort: publicPort,
      isIpv6,
      run,
      resolver: undefined,
    },
  };
}
