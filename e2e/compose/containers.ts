import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { composeCommand } from '#scripts/images/compose-plugin.ts';
import { underTest } from '../people.ts';

const execute = promisify(execFile);
const DEADLINE_MS = 120_000;

/** One docker command. @returns what it wrote, without the last line's end. @throws when it failed */
export async function docker(...words: readonly string[]): Promise<string> {
  const { stdout } = await execute('docker', [...words], { timeout: DEADLINE_MS, maxBuffer: 16 * 1024 * 1024 });
  return stdout.trimEnd();
}

/** One command of Compose for the appliance under test. */
export async function compose(...words: readonly string[]): Promise<string> {
  const [program, ...first] = (await composeCommand()) ?? ['docker', 'compose'];
  const { home, connect } = underTest();
  const port = connect.split(':').at(-1) ?? '';
  const line = [`APPLIANCE_PORT=${port}`, program, ...first, '--file', join(home, 'compose.yaml'), ...words];
  const { stdout } = await execute('env', line, { timeout: DEADLINE_MS });
  return stdout.trimEnd();
}

export async function containerOf(service: string): Promise<string> {
  return compose('ps', '--all', '--quiet', service);
}

/** What `docker inspect` says of a service's container, by a template. */
export async function inspect(service: string, template: string): Promise<string> {
  return docker('inspect', '--format', template, await containerOf(service));
}

/** The container's address on the network without a way out. */
export async function addressOn(network: string, service: string): Promise<string> {
  return inspect(service, `{{(index .NetworkSettings.Networks "${await nameOf(network)}").IPAddress}}`);
}

/** The full name of a network of compose.yaml. */
export async function nameOf(network: string): Promise<string> {
  const project = /^name: (\S+)$/m.exec(await readFile(join(underTest().home, 'compose.yaml'), 'utf8'))?.[1] ?? '';
  return `${project}_${network}`;
}
