import { readFile } from 'node:fs/promises';
import { ConfigError } from './load-config.ts';

/** The text of a secret's file, without the line end an editor may have left. @throws {ConfigError} naming the file, never its content */
export async function readSecret(file: string): Promise<string> {
  let secret: string;
  try {
    secret = (await readFile(file, 'utf8')).trimEnd();
  } catch (error) {
    throw new ConfigError(`secret ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, { cause: error });
  }
  if (secret === '') throw new ConfigError(`secret ${file} is empty`);
  return secret;
}
