/**
 * Private servers for tests that kill, pause or fill one. Each lies in a temporary directory of its own, which `stop` removes.
 * First data directories are copied from a template in the machine's cache: making one takes MySQL 3 s.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kafkaProperties } from '#scripts/configure/render/kafka.ts';
import { mysqlConfig } from '#scripts/configure/render/mysql.ts';
import { redisConfig } from '#scripts/configure/render/redis.ts';
import { run } from '#scripts/servers/command.ts';
import { CACHE, buildOnce, recipeHash } from '#scripts/servers/build-once.ts';
import { kafkaJars } from '#scripts/servers/kafka-jars.ts';
import { startKafka } from '#scripts/servers/kafka.ts';
import { startMysql } from '#scripts/servers/mysql.ts';
import { freePorts } from '#scripts/servers/ports.ts';
import { startRedis } from '#scripts/servers/redis.ts';
import { serverRoot } from '#scripts/servers/root.ts';
import type { Server } from '#scripts/servers/server.ts';
import type { TestServers } from './servers.ts';

/** A server that a test may hurt. After `kill`, `restart` brings it back with the data it had. */
export interface OwnServer {
  readonly pid: number;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Starts it again, ending it first where it still runs. Ready when this resolves. */
  restart(): Promise<void>;
  /** Ends it and removes its directory. */
  stop(): Promise<void>;
}

export type OwnMysql = OwnServer & TestServers['mysql'];
export type OwnRedis = OwnServer & TestServers['redis'];
export type OwnKafka = OwnServer & TestServers['kafka'];

const QUIET = { cache: CACHE, progress: (): void => undefined };
const GENERATED = 'for a test';
const running = new Set<OwnServer>();

/** Ends every server that was started here and still runs. */
export async function stopAllServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
}

export async function startOwnMysql(options: { readonly durable?: boolean } = {}): Promise<OwnMysql> {
  const home = await temporaryHome();
  const root = await serverRoot(QUIET);
  const socketPath = join(home, 'run/mysql.sock');
  const dataDirectory = join(home, 'data/mysql');
  const configFile = await configOf(
    home,
    mysqlConfig({ generated: GENERATED, dataDirectory, socketPath, bufferPoolMiB: 128, durable: false, ...options }),
  );
  await copyTemplate(await mysqlTemplate(root), dataDirectory);
  const server = await own(home, () => startMysql({ serverRoot: root }, { configFile, dataDirectory, socketPath }));
  return withServer(server, { socketPath, address: `unix:${socketPath}`, user: 'root', password: '' });
}

export async function startOwnRedis(options: { readonly maxMemoryMiB?: number } = {}): Promise<OwnRedis> {
  const home = await temporaryHome();
  const root = await serverRoot(QUIET);
  const path = join(home, 'run/redis.sock');
  const dataDirectory = join(home, 'data/redis');
  const configFile = await configOf(
    home,
    redisConfig({ generated: GENERATED, dataDirectory, socketPath: path, maxMemoryMiB: 256, ...options }),
  );
  const server = await own(home, () => startRedis({ serverRoot: root }, { configFile, dataDirectory, socketPath: path }));
  return withServer(server, { path, address: `unix:${path}` });
}

export async function startOwnKafka(): Promise<OwnKafka> {
  const home = await temporaryHome();
  const deps = { serverRoot: await serverRoot(QUIET), kafkaJars: await kafkaJars(QUIET) };
  const [port = 0, controllerPort = 0] = await freePorts(2);
  const dataDirectory = join(home, 'data/kafka');
  const properties = kafkaProperties({
    generated: GENERATED,
    dataDirectory: join(dataDirectory, 'log'),
    port,
    controllerPort,
    durable: false,
  });
  const configFile = await configOf(home, properties);
  const server = await own(home, () => startKafka(deps, { configFile, dataDirectory, port }));
  return withServer(server, { brokers: [`127.0.0.1:${port}`] });
}

/** One of each for a whole run, started at the same time. */
export async function startTestServers(): Promise<TestServers> {
  const [mysql, redis, kafka] = await Promise.all([startOwnMysql(), startOwnRedis(), startOwnKafka()]);
  return { mysql, redis, kafka };
}

async function temporaryHome(): Promise<string> {
  const home = await mkdtemp('/tmp/ima-'); // Short: a socket's path has 107 bytes at most.
  for (const name of ['data', 'run', 'config']) await mkdir(join(home, name));
  return home;
}

async function configOf(home: string, text: string): Promise<string> {
  const file = join(home, 'config/server.conf');
  await writeFile(file, text);
  return file;
}

async function own(home: string, start: () => Promise<Server>): Promise<OwnServer> {
  let server: Server;
  try {
    server = await start();
  } catch (error) {
    await rm(home, { recursive: true, force: true });
    throw error;
  }
  const handle: OwnServer = {
    get pid() {
      return server.pid;
    },
    kill: () => server.kill(),
    pause: () => {
      server.pause();
    },
    resume: () => {
      server.resume();
    },
    async restart() {
      await server.stop();
      server = await start();
    },
    async stop() {
      if (!running.delete(handle)) return;
      await server.kill(); // Its data are thrown away, so there is nothing to end cleanly.
      await rm(home, { recursive: true, force: true });
    },
  };
  running.add(handle);
  return handle;
}

/** A spread would read `pid` once and for all. */
function withServer<Address extends object>(server: OwnServer, address: Address): OwnServer & Address {
  return Object.defineProperties({ ...address }, Object.getOwnPropertyDescriptors(server)) as OwnServer & Address;
}

/** An empty MySQL data directory, made once a machine. */
async function mysqlTemplate(root: string): Promise<string> {
  const recipe = mysqlConfig({ generated: GENERATED, dataDirectory: '', socketPath: '', durable: false });
  return buildOnce(QUIET, `mysql-template-${recipeHash(root, recipe)}`, async (directory) => {
    const dataDirectory = join(directory, 'data/mysql');
    const socketPath = join(directory, 'run/mysql.sock');
    for (const name of ['data', 'config']) await mkdir(join(directory, name));
    const configFile = await configOf(directory, mysqlConfig({ generated: GENERATED, dataDirectory, socketPath, durable: false }));
    const server = await startMysql({ serverRoot: root }, { configFile, dataDirectory, socketPath });
    await server.stop(); // A clean end, so that no copy begins with a recovery.
  });
}

async function copyTemplate(template: string, dataDirectory: string): Promise<void> {
  await run('cp', ['--archive', join(template, 'data/mysql'), dataDirectory]);
  await rm(join(dataDirectory, 'auto.cnf'), { force: true }); // The server's identity; each copy gets its own.
}
