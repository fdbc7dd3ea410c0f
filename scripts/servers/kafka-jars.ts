/**
 * Kafka's broker, from its own jars. The list beside this file names every jar with its sha256; Maven fetches exactly those, none by
 * dependency resolution, and none that does not match is ever used. scripts/servers/pin-kafka-jars.ts writes the list.
 */
import { createHash } from 'node:crypto';
import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installPrograms } from './apt.ts';
import type { BuildDeps } from './build-once.ts';
import { buildOnce, recipeHash } from './build-once.ts';
import { run } from './command.ts';

export interface Jar {
  /** `group:artifact:version` */
  readonly coordinate: string;
  readonly sha256: string;
}

export interface JarList {
  readonly kafka: string;
  readonly jars: readonly Jar[];
}

const LIST = join(import.meta.dirname, 'kafka-jars.json');
const LOGGING = join(import.meta.dirname, 'kafka-log4j2.properties');
/** Pinned, so that the fetch does not change by itself. */
const DEPENDENCY_PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';

export async function jarList(): Promise<JarList> {
  return JSON.parse(await readFile(LIST, 'utf8')) as JarList;
}

/** Directory with Kafka's jars under `libs/` and its logging settings; fetched by the first caller, about 10 s and 45 MB. */
export async function kafkaJars(deps: BuildDeps): Promise<string> {
  const list = await jarList();
  const logging = await readFile(LOGGING, 'utf8');
  return buildOnce(deps, `kafka-${list.kafka}-${recipeHash(list, logging)}`, async (directory) => {
    await installPrograms(deps.cache, { mvn: ['maven'] }, deps.progress);
    deps.progress(`fetching ${list.jars.length} jars of Kafka ${list.kafka}`);
    await fetchJars(
      directory,
      list.jars.map(({ coordinate }) => coordinate),
    );
    for (const jar of list.jars) await verify(directory, jar);
    await copyFile(LOGGING, join(directory, 'log4j2.properties'));
    await chmod(directory, 0o755);
  });
}

/** Copies the jars of these coordinates into `<directory>/libs`; with `transitive` everything they need at run time too. */
export async function fetchJars(directory: string, coordinates: readonly string[], transitive = false): Promise<void> {
  const pom = join(directory, 'pom.xml');
  const repository = join(directory, 'repository');
  await writeFile(pom, pomOf(coordinates));
  await run('mvn', [
    '--batch-mode',
    '--quiet',
    `--file=${pom}`,
    `-Dmaven.repo.local=${repository}`,
    `${DEPENDENCY_PLUGIN}:copy-dependencies`,
    `-DoutputDirectory=${join(directory, 'libs')}`,
    '-DincludeScope=runtime',
    `-DexcludeTransitive=${!transitive}`,
  ]);
  if (!transitive) await rm(repository, { recursive: true });
  await rm(pom);
}

/** `artifact-version.jar`, as Maven names the copy. */
export function fileNameOf(coordinate: string): string {
  const [, artifact, version] = coordinate.split(':');
  if (artifact === undefined || version === undefined) throw new Error(`not a coordinate: ${coordinate}`);
  return `${artifact}-${version}.jar`;
}

export async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}

async function verify(directory: string, { coordinate, sha256 }: Jar): Promise<void> {
  const actual = await sha256Of(join(directory, 'libs', fileNameOf(coordinate)));
  if (actual !== sha256) throw new Error(`${coordinate} is not the jar we pinned: sha256 ${actual}, expected ${sha256}`);
}

function pomOf(coordinates: readonly string[]): string {
  const dependencies = coordinates.map((coordinate) => {
    const [group, artifact, version] = coordinate.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>',
    '<groupId>im-appliance</groupId><artifactId>kafka</artifactId><version>1</version><packaging>pom</packaging>',
    `<dependencies>${dependencies.join('\n')}</dependencies></project>`,
  ].join('\n');
}
