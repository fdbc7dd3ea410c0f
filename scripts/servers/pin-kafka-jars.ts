/**
 * Writes kafka-jars.json anew: `node scripts/servers/pin-kafka-jars.ts KAFKA_VERSION LOG4J_VERSION`.
 * Run it to move to another Kafka, then read the difference before committing it.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import type { Jar, JarList } from './kafka-jars.ts';
import { fetchJars, sha256Of } from './kafka-jars.ts';

const [kafka, log4j] = process.argv.slice(2);
if (kafka === undefined || log4j === undefined) throw new Error('usage: pin-kafka-jars.ts KAFKA_VERSION LOG4J_VERSION');

const directory = await mkdtemp(join(tmpdir(), 'kafka-jars-'));
try {
  const roots = [
    `org.apache.kafka:kafka_2.13:${kafka}`,
    `org.apache.logging.log4j:log4j-core:${log4j}`,
    `org.apache.logging.log4j:log4j-slf4j-impl:${log4j}`,
  ];
  await fetchJars(directory, roots, true);
  const list: JarList = { kafka, jars: await jarsIn(directory) };
  await writeFile(join(import.meta.dirname, 'kafka-jars.json'), `${JSON.stringify(list, null, 2)}\n`);
} finally {
  await rm(directory, { recursive: true });
}

/** The repository's folders are `group/as/folders/artifact/version/artifact-version.jar`. */
async function jarsIn(folder: string): Promise<readonly Jar[]> {
  const repository = join(folder, 'repository');
  const wanted = new Set(await readdir(join(folder, 'libs')));
  const files = (await readdir(repository, { recursive: true })).filter((file) => wanted.has(basename(file)));
  const jars = files.map(async (file) => {
    const version = dirname(file);
    const artifact = dirname(version);
    const group = dirname(artifact).replaceAll('/', '.');
    return { coordinate: `${group}:${basename(artifact)}:${basename(version)}`, sha256: await sha256Of(join(repository, file)) };
  });
  const found = await Promise.all(jars);
  if (found.length !== wanted.size) throw new Error(`${relative('.', repository)} holds ${found.length} of ${wanted.size} jars`);
  return found.sort((a, b) => (a.coordinate < b.coordinate ? -1 : 1));
}
