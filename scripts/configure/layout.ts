import { join } from 'node:path';
import { PreflightError } from './problems.ts';

export type Runtime = 'process' | 'compose';

/** Loopback ports of the process runtime, chosen once and kept in state/ports.json. */
export interface Ports {
  readonly kafka: number;
  readonly kafka_controller: number;
}

/** A door of one of our services: where it listens, and where the others find it. `unix:/path` or `host:port`. */
export interface Door {
  readonly listen: string;
  readonly address: string;
}

/** A server's own places. */
export interface ServerLayout {
  readonly address: string;
  readonly data: string;
  /** Absent where nobody uses one. */
  readonly socket?: string;
  /** What it listens on besides the socket. */
  readonly tcp?: { readonly address: string; readonly port: number };
}

export interface KafkaLayout {
  readonly data: string;
  readonly listen: string;
  /** Name under which clients reach it. */
  readonly advertised: string;
  readonly port: number;
  readonly controllerPort: number;
}

/** Where every part is. All that differs between the runtimes. */
export interface Layout {
  /** The directory of secrets and certificates, as those who read them see it. */
  readonly state: string;
  readonly mysql: ServerLayout & { readonly socket: string; readonly temporary: string };
  readonly redis: ServerLayout;
  readonly kafka: KafkaLayout;
  readonly coreTls: Door;
  readonly coreHttp: Door;
  readonly hotgoHttp: Door;
  readonly coreOps: string;
  readonly outboxOps: string;
  readonly hotgoOps: string;
  /** Whose PROXY header the gateway believes. */
  readonly proxyFrom: readonly string[];
  readonly nginx: NginxLayout;
}

export interface NginxLayout {
  /** Whether stream is a module that must be loaded, as Debian ships it. */
  readonly streamModule: string | undefined;
  /** Undefined where all of Nginx runs as one user. */
  readonly workerUser: string | undefined;
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
/** The path is written into the files of four servers, each of which gives other characters a meaning. */
const PLAIN_PATH = /^[A-Za-z0-9/._@+=~-]+$/;

export interface ProcessOptions {
  readonly home: string;
  readonly ports: Ports;
  readonly publicPort: number;
  readonly isIpv6: boolean;
}

/** @throws {PreflightError} when the home's path is too long for its sockets, or has a character that a server would not take */
export function processLayout({ home, ports, publicPort, isIpv6 }: ProcessOptions): Layout {
  if (!PLAIN_PATH.test(home)) {
    throw new PreflightError(
      `the path of the appliance's home may have letters, digits and any of . _ - @ + = ~ in it, no spaces: ${home}`,
    );
  }
  const run = join(home, 'run');
  const socket = (name: string): string => {
    const path = join(run, name);
    const excess = Buffer.byteLength(path) - MAX_SOCKET_PATH_BYTES;
    if (excess > 0) throw new PreflightError(`the path of the appliance's home is ${excess} bytes too long for unix sockets: ${home}`);
    return `unix:${path}`;
  };
  const data = (part: string): string => join(home, 'data', part);
  const door = (name: string): Door => ({ listen: socket(name), address: socket(name) });
  return {
    state: join(home, 'state'),
    mysql: { address: socket('mysql.sock'), data: data('mysql'), socket: join(run, 'mysql.sock'), temporary: '/var/tmp' },
    redis: { address: socket('redis.sock'), data: data('redis'), socket: join(run, 'redis.sock') },
    kafka: {
      data: join(data('kafka'), 'log'),
      listen: '127.0.0.1',
      advertised: '127.0.0.1',
      port: ports.kafka,
      controllerPort: ports.kafka_controller,
    },
    coreTls: door('im-core-tls.sock'),
    coreHttp: door('im-core-http.sock'),
    hotgoHttp: door('hotgo-admin-api-http.sock'),
    coreOps: socket('im-core-ops.sock'),
    outboxOps: socket('outbox-and-cron-ops.sock'),
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

/** What every container sees below `/appliance`, and the ports on the internal network; compose.yaml says the same. */
const CONTAINER = { state: '/appliance/state', ops: '0.0.0.0:9100', nameServer: '127.0.0.11', nginxUid: 101 } as const;

/** @param proxyAddress the address of Nginx on the internal network */
export function composeLayout(proxyAddress: string): Layout {
  const door = (service: string, port: number): Door => ({ listen: `0.0.0.0:${port}`, address: `${service}:${port}` });
  return {
    state: CONTAINER.state,
    mysql: {
      address: 'mysql:3306',
      data: '/var/lib/mysql/data',
      socket: '/run/mysqld/mysqld.sock',
      temporary: '/var/lib/mysql/tmp',
      tcp: { address: '0.0.0.0', port: 3306 },
    },
    redis: { address: 'redis:6379', data: '/data', tcp: { address: '0.0.0.0', port: 6379 } },
    kafka: { data: '/var/lib/kafka/data/log', listen: '0.0.0.0', advertised: 'kafka', port: 9092, controllerPort: 9093 },
    coreTls: door('im-core', 9000),
    coreHttp: door('im-core', 8080),
    hotgoHttp: door('hotgo-admin-api', 8080),
    coreOps: CONTAINER.ops,
    outboxOps: CONTAINER.ops,
    hotgoOps: CONTAINER.ops,
    proxyFrom: [proxyAddress],
    nginx: {
      streamModule: undefined,
      workerUser: undefined,
      workerUid: CONTAINER.nginxUid,
      listenPort: 443, // Compose publishes it; IPv6 clients come through there too.
      isIpv6: false,
      run: '/run/nginx',
      resolver: CONTAINER.nameServer,
    },
  };
}
