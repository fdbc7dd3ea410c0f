import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './command.ts';
import type { ServerDeps } from './inside.ts';
import { fillOnce, inside } from './inside.ts';
import { answers } from './probe.ts';
import { SERVER_USERS, javaHome } from './root.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

export interface KafkaDeps extends ServerDeps {
  /** From kafkaJars(). */
  readonly kafkaJars: string;
}

export interface KafkaOptions {
  /** Text of kafkaProperties(), readable by anybody. */
  readonly configFile: string;
  readonly dataDirectory: string;
  /** The loopback port that clients use. */
  readonly port: number;
}

/** Heap of the broker (MiB). */
export const KAFKA_HEAP_MIB = 256;

const UID = SERVER_USERS.kafka;

/** Starts Kafka; the first start formats its data directory with a cluster id of its own (about 2 s). */
export async function startKafka(deps: KafkaDeps, { configFile, dataDirectory, port }: KafkaOptions): Promise<Server> {
  await fillOnce(dataDirectory, UID, (directory) => format(deps, configFile, directory));
  const [command = '', ...args] = await javaCommand(deps, [dirname(configFile), dataDirectory], ['kafka.Kafka', configFile]);
  return startServer({
    name: 'kafka',
    command,
    args,
    onLine: deps.onLine ?? (() => undefined),
    stopping: deps.stopping,
    isReady: async (lines) => lines.some((line) => line.includes('Kafka Server started')) && (await isKafkaUp(port)),
    readyDeadlineMs: 120_000,
  });
}

export async function isKafkaUp(port: number): Promise<boolean> {
  return answers({ host: '127.0.0.1', port });
}

async function format(deps: KafkaDeps, configFile: string, directory: string): Promise<void> {
  // The last of two equal keys counts, so the copy formats the unfinished directory.
  const copy = join(directory, 'format.properties');
  await writeFile(copy, `${await readFile(configFile, 'utf8')}\nlog.dirs=${join(directory, 'log')}\n`);
  const clusterId = randomBytes(16).toString('base64url').replace(/^-/, 'A');
  const tool = ['kafka.tools.StorageTool', 'format', '--cluster-id', clusterId, '--config', copy];
  const [command = '', ...args] = await javaCommand(deps, [directory], tool);
  await run(command, args, deps.onLine === undefined ? {} : { onLine: deps.onLine });
}

async function javaCommand(deps: KafkaDeps, directories: readonly string[], main: readonly string[]): Promise<readonly string[]> {
  const java = await javaHome(deps.serverRoot);
  return inside(
    deps.serverRoot,
    UID,
    [...directories, deps.kafkaJars],
    [
      `${java}/bin/java`,
      '-Xms64m',
      `-Xmx${KAFKA_HEAP_MIB}m`,
      '-XX:+UseSerialGC', // One small heap: less memory and a quicker start than the concurrent collectors.
      '-XX:-UsePerfData',
      '-XX:+ExitOnOutOfMemoryError', // A broker without memory is worse than one that starts again.
      `-Dlog4j2.configurationFile=${deps.kafkaJars}/log4j2.properties`,
      '-cp',
      `${deps.kafkaJars}/libs/*`,
      ...main,
    ],
  );
}
