/** Redis' settings. Memory is bounded and nothing is evicted: a full Redis refuses new work instead of forgetting old. */
export interface RedisConfigOptions {
  /** Completes "generated ..." in the first line. */
  readonly generated: string;
  readonly dataDirectory: string;
  readonly socketPath?: string;
  /** Address and port to listen on; without it there is no TCP at all. */
  readonly tcp?: { readonly address: string; readonly port: number };
  /** Users and passwords; without it anybody who reaches the socket is in. */
  readonly aclFile?: string;
  /** Default 512. */
  readonly maxMemoryMiB?: number;
}

export function redisConfig({ generated, dataDirectory, socketPath, tcp, aclFile, maxMemoryMiB = 512 }: RedisConfigOptions): string {
  return [
    `# generated ${generated}`,
    ...(tcp === undefined ? ['port 0'] : [`bind ${tcp.address}`, `port ${tcp.port}`, 'protected-mode no']),
    ...(socketPath === undefined ? [] : [`unixsocket ${socketPath}`, 'unixsocketperm 700']),
    ...(aclFile === undefined ? [] : [`aclfile ${aclFile}`]),
    `dir ${dataDirectory}`,
    'daemonize no',
    'logfile ""',
    'databases 1',
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    `maxmemory ${maxMemoryMiB}mb`,
    'maxmemory-policy noeviction',
    'tcp-keepalive 60',
    'timeout 0',
    '',
  ].join('\n');
}
