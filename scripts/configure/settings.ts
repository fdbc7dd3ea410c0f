import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { checkFile } from './check-file.ts';
import type { CheckedFile } from './check-file.ts';
import { crossCheck } from './cross-checks.ts';
import type { Fault } from './cross-checks.ts';
import { externalChecks } from './external-checks.ts';
import { ConfigProblems } from './problems.ts';
import { operatorSchema } from './schema.ts';
import type { Settings } from './schema.ts';
import { ignoredVariables } from './ambient.ts';

export interface ReadSettings {
  readonly settings: Settings;
  /** 16 hex digits of what the file and the files it names say, and of the product's version; comments, order and spelling do not change it. */
  readonly hash: string;
  readonly warnings: readonly string[];
}

export interface SettingsDeps {
  readonly now: Date;
  /** Default the variables of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const MAX_FILE_BYTES = 1_048_576;
const PACKAGE = new URL('../../package.json', import.meta.url);

/**
 * Reads and checks the operator's file, and the certificates and key files it names. Touches nothing.
 *
 * @throws {ConfigProblems} with every problem of the file
 */
export async function readSettings({ now, environment }: SettingsDeps, file: string): Promise<ReadSettings> {
  const checked = checkFile(await textOf(file), operatorSchema);
  if (checked.problems.length > 0) throw new ConfigProblems(basename(file), checked.problems);
  // The check has just proved this shape; the type is derived from the same declarations.
  const settings = checked.values as unknown as Settings;
  const outside = await externalChecks(settings, now);
  const faults = [...crossCheck(settings), ...outside.faults];
  if (faults.length > 0) throw new ConfigProblems(basename(file), located(faults, checked));
  return {
    settings,
    hash: await hashOf(settings, outside.prints),
    warnings: [
      ...warningsOf(settings),
      ...outside.warnings,
      ...ignoredVariables(environment).map(
        (name) => `the environment variable ${name} is ignored; ${basename(file)} is the only source of settings`,
      ),
    ],
  };
}

async function textOf(file: string): Promise<string> {
  const fail = (message: string): never => {
    throw new ConfigProblems(basename(file), [{ line: 1, column: 1, path: '', message }]);
  };
  const bytes = await readFile(file).catch((error: unknown) =>
    fail(`cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`),
  );
  if (bytes.length > MAX_FILE_BYTES) return fail('is larger than 1MiB');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return fail('is not UTF-8 text');
  }
}

function located(faults: readonly Fault[], checked: CheckedFile): ConfigProblems['problems'] {
  return faults.map(([path, message]) => ({ ...checked.positionOf(path), path, message }));
}

async function hashOf(settings: Settings, files: Readonly<Record<string, string>>): Promise<string> {
  const { version } = JSON.parse(await readFile(PACKAGE, 'utf8')) as { version: string };
  return createHash('sha256').update(canonical({ version, settings, files })).digest('hex').slice(0, 16);
}

/** JSON with keys in order, so that the order in the file does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}

function warningsOf({ auth, domain }: Settings): readonly string[] {
  const isPublic = Object.values(domain).some((name) => !name.endsWith('.localhost'));
  return auth.registration === 'open' && isPublic
    ? [`auth.registration is open and ${domain.api} is not a .localhost name: whoever reaches it can make an account`]
    : [];
}
