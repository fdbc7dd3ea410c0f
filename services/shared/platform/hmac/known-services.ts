import { INTERNAL_SCOPES } from '#shared/contract/internal-api.ts';
import type { InternalScope } from '#shared/contract/internal-api.ts';
import { readSecret } from '../config/secret.ts';
import type { KnownService } from './verify-request.ts';

/** One service of the rendered `internal_api.services`. */
export interface ConfiguredService {
  readonly name: string;
  readonly allow: readonly string[];
  readonly keys: readonly { readonly id: string; readonly secret_file: string; readonly not_after: string | null }[];
}

/** Reads the key files. @throws when a file is missing or empty, or a scope is none of ours */
export async function loadKnownServices(services: readonly ConfiguredService[]): Promise<readonly KnownService[]> {
  return Promise.all(
    services.map(async ({ name, allow, keys }) => ({
      name,
      allow: allow.map(scopeOf),
      keys: await Promise.all(
        keys.map(async (key) => ({
          id: key.id,
          secret: Buffer.from(await readSecret(key.secret_file)),
          notAfter: key.not_after === null ? null : new Date(key.not_after),
        })),
      ),
    })),
  );
}

function scopeOf(word: string): InternalScope {
  const scope = INTERNAL_SCOPES.find((candidate) => candidate === word);
  if (scope === undefined) throw new Error(`"${word}" is nothing that a service may call`);
  return scope;
}
