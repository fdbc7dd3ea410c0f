import { dirname } from 'node:path';
import type { NetConnectOpts } from 'node:net';
import { mkdir } from 'node:fs/promises';
import { run } from './command.ts';
import type { ServerDeps } from './inside.ts';
import { inside } from './inside.ts';
import { answers } from './probe.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

export interface NginxOptions {
  /** The main configuration. It must not say `daemon` or `pid`; what it includes lies beside it or in `directories`. */
  readonly configFile: string;
  /** Directories of certificates and sockets that the configuration names. */
  readonly directories: readonly string[];
  /** Where a connection tells that it serves. */
  readonly probe: NetConnectOpts;
}

/** Starts nginx: the master as root (it reads keys and opens port 443), the workers as the `user` of the configuration. */
export async function startNginx(deps: ServerDeps, options: NginxOptions): Promise<Server> {
  for (const directory of options.directories) await mkdir(directory, { recursive: true });
  const [command = '', ...args] = nginxCommand(deps, options, ['-g', 'daemon off; pid /run/nginx.pid;']);
  return startServer({
    name: 'nginx',
    command,
    args,
    onLine: deps.onLine ?? (() => undefined),
    stopping: deps.stopping,
    isReady: () => answers(options.probe),
    stopSignal: 'SIGQUIT',
    stopDeadlineMs: 27_000, // Its connections end when the services behind them have drained.
    readyDeadlineMs: 15_000,
  });
}

/** @throws when nginx refuses the configuration; the message says why */
export async function checkNginx(deps: ServerDeps, options: Omit<NginxOptions, 'probe'>): Promise<void> {
  const [command = '', ...args] = nginxCommand(deps, options, ['-t', '-q', '-g', 'pid /run/nginx.pid;']);
  await run(command, args);
}

function nginxCommand(deps: ServerDeps, options: Omit<NginxOptions, 'probe'>, flags: readonly string[]): readonly string[] {
  const [enter = '', ...line] = inside(
    deps.serverRoot,
    0,
    [dirname(options.configFile), ...options.directories],
    ['/usr/sbin/nginx', '-e', 'stderr', '-c', options.configFile, ...flags],
  );
  return [enter, '--pipe', ...line]; // It opens /dev/stdout for its access log.
}
