/** The parts of the process runtime for the configuration in HOME/rendered/current. */
import { createHash } from 'node:crypto';
import { readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BuildDeps } from './build-once.ts';
import { run } from './command.ts';
import { httpOver } from './control.ts';
import { homePaths, readText } from './home.ts';
import { jarList, kafkaJars } from './kafka-jars.ts';
import { isKafkaUp, startKafka } from './kafka.ts';
import { isMysqlUp, startMysql } from './mysql.ts';
import { startNginx } from './nginx.ts';
import type { PartHealth, PartSpec } from './part.ts';
import { answers } from './probe.ts';
import { isRedisUp, startRedis } from './redis.ts';
import type { ServerVersions } from './root.ts';
import { serverRoot, serverVersions } from './root.ts';
import { startServer } from './server.ts';
import type { Server } from './server.ts';
import type { Plan } from './supervisor.ts';

export const SERVICES = ['im-core', 'outbox-and-cron', 'hotgo-admin-api'] as const;

/** Heap of each service (MiB); without a limit Node takes half of the machine before it tidies up. Messages on their way lie outside of it. */
export const HEAP_MIB: Readonly<Record<(typeof SERVICES)[number], number>> = {
  'im-core': 384,
  'outbox-and-cron': 256,
  'hotgo-admin-api': 256,
};

/** Every part in the order of their start; each has a log of its name. */
export const PARTS = ['mysql', 'redis', 'kafka', 'migrate', ...SERVICES, 'nginx'] as const;

interface PlanInput {
  readonly root: string;
  readonly home: string;
  /** The rendered directory itself, so that a part that starts anew reads what the others read. */
  readonly rendered: string;
  readonly serverRoot: string;
  readonly kafkaJars: string;
  readonly versions: ServerVersions;
}

/** What of a rendered service file the supervisor must know. */
interface RenderedService {
  readonly config_hash: string;
  readonly kafka: { readonly enabled: boolean; readonly brokers: readonly string[] };
}

/** @param clone the folder that holds package.json */
export async function appliancePlan(deps: BuildDeps, clone: string, home: string): Promise<Plan> {
  const rendered = await realpath(homePaths(home).rendered);
  const root = await serverRoot(deps);
  const input = { root: clone, home, rendered, serverRoot: root, kafkaJars: await kafkaJars(deps), versions: await serverVersions(root) };
  const core = JSON.parse(await readFile(join(rendered, 'im-core.json'), 'utf8')) as RenderedService;
  const servers = [mysqlPart(input), redisPart(input), ...(core.kafka.enabled ? [await kafkaPart(input, core.kafka.brokers)] : [])];
  return {
    configHash: core.config_hash,
    servers: await Promise.all(servers.map(({ file, ...part }) => withFingerprint(part, join(rendered, file)))),
    migrateDatabases: (onLine) => migrate(input, 'databases', onLine),
    migrateTopics: async (onLine) => {
      await migrate(input, 'topics', onLine);
      await writeFile(homePaths(home).migrated, `${core.config_hash}\n`);
    },
    isMigrated: (await readText(homePaths(home).migrated)) === core.config_hash,
    services: SERVICES.map((name) => servicePart(input, name)),
    doors: [await nginxPart(input)],
  };
}

type ServerPart = PartSpec & { readonly file: string; readonly isOptional?: boolean };

function mysqlPart({ home, rendered, serverRoot: root, versions }: PlanInput): ServerPart {
  const paths = homePaths(home);
  const socketPath = paths.socket('mysql');
  const admin = { user: 'migrate', passwordFile: join(paths.state, 'mysql/migrate') };
  const options = { configFile: join(rendered, 'mysql.cnf'), dataDirectory: paths.data('mysql'), socketPath, admin };
  return {
    name: 'mysql',
    file: 'mysql.cnf',
    start: (onLine, stopping) => startMysql({ serverRoot: root, onLine, stopping }, options),
    health: async () => healthIf(await isMysqlUp(socketPath), versions.mysql),
  };
}

function redisPart({ home, rendered, serverRoot: root, versions }: PlanInput): ServerPart {
  const paths = homePaths(home);
  const socketPath = paths.socket('redis');
  const aclFile = join(paths.state, 'redis/users.acl');
  const options = { configFile: join(rendered, 'redis.conf'), dataDirectory: paths.data('redis'), socketPath, aclFile };
  return {
    name: 'redis',
    file: 'redis.conf',
    start: (onLine, stopping) => startRedis({ serverRoot: root, onLine, stopping }, options),
    health: async () => healthIf(await isRedisUp(socketPath), versions.redis),
  };
}

async function kafkaPart(
  { home, rendered, serverRoot: root, kafkaJars: jars }: PlanInput,
  brokers: readonly string[],
): Promise<ServerPart> {
  const port = Number(brokers[0]?.split(':').at(-1));
  const { kafka: version } = await jarList();
  const options = { configFile: join(rendered, 'kafka.properties'), dataDirectory: homePaths(home).data('kafka'), port };
  return {
    name: 'kafka',
    file: 'kafka.properties',
    isOptional: true,
    start: (onLine, stopping) => startKafka({ serverRoot: root, kafkaJars: jars, onLine, stopping }, options),
    health: async () => healthIf(await isKafkaUp(port), version),
  };
}

function servicePart({ root, home, rendered }: PlanInput, name: (typeof SERVICES)[number]): PartSpec {
  const ops = homePaths(home).socket(`${name}-ops`);
  return {
    name,
    start: async (onLine, stopping) => {
      await removeSockets(home, name);
      return startNode(root, {
        name,
        file: `services/${name}/main.ts`,
        heapMiB: HEAP_MIB[name],
        config: join(rendered, `${name}.json`),
        onLine,
        stopping,
        isReady: async () => (await httpOver(ops, 'GET', '/healthz'))?.status === 200,
      });
    },
    health: async () => {
      const answer = await httpOver(ops, 'GET', '/readyz');
      if (answer?.status !== 200) return undefined;
      return readinessOf(answer.body);
    },
  };
}

async function nginxPart({ home, rendered, serverRoot: root, versions }: PlanInput): Promise<PartSpec> {
  const paths = homePaths(home);
  const configFile = join(rendered, 'nginx/nginx.conf');
  const sites = await Promise.all(['http/api.conf', 'http/admin.conf'].map((file) => readFile(join(rendered, 'nginx', file), 'utf8')));
  const directories = [paths.run, paths.state, ...(await directoriesOf(certificateFiles(sites.join('\n'))))];
  const stream = await readFile(join(rendered, 'nginx/stream/443.conf'), 'utf8');
  const probe = { host: '127.0.0.1', port: Number(/^\s*listen\s+(\d+)/m.exec(stream)?.[1]) };
  return {
    name: 'nginx',
    start: async (onLine, stopping) => {
      await removeSockets(home, 'nginx');
      return startNginx({ serverRoot: root, onLine, stopping }, { configFile, directories, probe });
    },
    // Where nothing is logged about a connection that only says hello.
    health: async () => healthIf(await answers({ path: paths.socket('nginx-reject') }, 'PROXY UNKNOWN\r\n'), versions.nginx),
  };
}

/** An operator's own certificates lie where he keeps them. */
export function certificateFiles(nginxConfig: string): readonly string[] {
  return [...nginxConfig.matchAll(/^\s*ssl_certificate(?:_key)?\s+(\/[^;]+);/gm)].map(([, file = '']) => file);
}

/** A certificate may be a link to where its current version lies. */
async function directoriesOf(files: readonly string[]): Promise<readonly string[]> {
  const targets = await Promise.all(files.map((file) => realpath(file)));
  return [...new Set([...files, ...targets].map((file) => dirname(file)))];
}

/** A process that was killed leaves its sockets, and nobody can listen where a file is. */
async function removeSockets(home: string, part: string): Promise<void> {
  const { run: directory } = homePaths(home);
  const names = (await readdir(directory)).filter((name) => name.startsWith(`${part}-`) && name.endsWith('.sock'));
  await Promise.all(names.map((name) => rm(join(directory, name), { force: true })));
}

async function migrate({ root, rendered }: PlanInput, half: 'databases' | 'topics', onLine: (line: string) => void): Promise<void> {
  await run(process.execPath, [join(root, 'scripts/migrate/migrate.ts'), join(rendered, 'migrate.json'), half], { cwd: root, onLine });
}

interface NodeProcess {
  readonly name: string;
  readonly file: string;
  readonly heapMiB: number;
  readonly config: string;
  readonly onLine: (line: string) => void;
  readonly stopping: AbortSignal;
  readonly isReady: () => Promise<boolean>;
}

async function startNode(root: string, { name, file, heapMiB, config, onLine, stopping, isReady }: NodeProcess): Promise<Server> {
  return startServer({
    name,
    command: 'setpriv',
    args: ['--pdeathsig=TERM', '--', process.execPath, `--max-old-space-size=${heapMiB}`, join(root, file), config],
    cwd: root,
    onLine,
    stopping,
    isReady,
    stopDeadlineMs: 27_000, // Its own drain is 25 s at most.
  });
}

async function withFingerprint(part: PartSpec & { readonly isOptional?: boolean }, file: string): Promise<Plan['servers'][number]> {
  const [, ...settings] = (await readFile(file, 'utf8')).split('\n'); // The first line names the configuration's hash.
  return { ...part, fingerprint: createHash('sha256').update(settings.join('\n')).digest('hex') };
}

/** What a service says about itself at /readyz. */
export function readinessOf(body: string): PartHealth {
  const { version, config_hash, degraded, details } = JSON.parse(body) as {
    version: string;
    config_hash: string;
    degraded: string[];
    details?: Record<string, number>;
  };
  return { version, configHash: config_hash, degraded, lag: details ?? {} };
}

function healthIf(isUp: boolean, version: string): PartHealth | undefined {
  return isUp ? { version } : undefined;
}
