/** MySQL's option file. Sized for a machine where the whole appliance has 4 GiB. */
export interface MysqlConfigOptions {
  /** Completes "generated ..." in the first line. */
  readonly generated: string;
  readonly dataDirectory: string;
  readonly socketPath: string;
  /** Address and port to listen on besides the socket; without it there is no TCP at all. */
  readonly tcp?: { readonly address: string; readonly port: number };
  /** On disk, unlike /tmp: sorts of a large ALTER TABLE land here. Default /var/tmp. */
  readonly temporaryDirectory?: string;
  /** Default 256. */
  readonly bufferPoolMiB?: number;
  /** Default 300: three pools of services, their relays and an operator. */
  readonly maxConnections?: number;
  /** False only where a power cut may lose data, as in tests. Default true. */
  readonly durable?: boolean;
}

export function mysqlConfig(options: MysqlConfigOptions): string {
  const { generated, dataDirectory, socketPath, tcp, temporaryDirectory = '/var/tmp' } = options;
  const { bufferPoolMiB = 256, maxConnections = 300, durable = true } = options;
  return [
    `# generated ${generated}`,
    '[mysqld]',
    `datadir=${dataDirectory}`,
    `socket=${socketPath}`,
    ...(tcp === undefined ? ['skip-networking=ON', 'auto-generate-certs=OFF'] : [`bind-address=${tcp.address}`, `port=${tcp.port}`]),
    'mysqlx=OFF',
    'skip-name-resolve=ON',
    `tmpdir=${temporaryDirectory}`,
    'secure-file-priv=NULL',
    'local-infile=OFF',
    'character-set-server=utf8mb4',
    'collation-server=utf8mb4_0900_ai_ci',
    "default-time-zone='+00:00'",
    'transaction-isolation=READ-COMMITTED',
    '# An acknowledged message survives a power cut.',
    'log-bin=binlog',
    `sync-binlog=${durable ? 1 : 0}`,
    // Without durability a commit still outlives the server itself, only not the machine.
    `innodb-flush-log-at-trx-commit=${durable ? 1 : 2}`,
    'binlog-expire-logs-seconds=259200',
    'max-binlog-size=128M',
    `innodb-buffer-pool-size=${bufferPoolMiB}M`,
    `innodb-redo-log-capacity=${durable ? 256 : 64}M`,
    'innodb-log-buffer-size=16M',
    'innodb-print-all-deadlocks=ON',
    'performance-schema=OFF',
    `max-connections=${maxConnections}`,
    'max-allowed-packet=16M',
    'table-open-cache=1000',
    '',
  ].join('\n');
}
