import { join } from 'node:path';
import type { Settings } from './schema.ts';
import { redisAcl, redisUsers } from './render/redis-acl.ts';
import type { StatePlace } from './state-place.ts';
import { ensureSecret, writePrivate } from './state.ts';

/** A key that a service may sign with, as it is rendered. */
export interface RenderedKey {
  readonly id: string;
  readonly secret_file: string;
  readonly not_after: string | null;
}

export interface RenderedService {
  readonly name: string;
  readonly allow: readonly string[];
  readonly keys: readonly RenderedKey[];
}

/** Where services find what only they may read. */
export interface Secrets {
  /** File of a secret that configure makes, by its path below HOME/state. */
  file(path: string): string;
  readonly internalApi: readonly RenderedService[];
  readonly adminInternalApi: readonly RenderedService[];
}

/** One login or key per service; nobody shares one. */
const GENERATED: readonly string[] = [
  'mysql/migrate',
  'mysql/im_core',
  'mysql/im_worker',
  'mysql/hotgo_admin',
  'redis/im_core',
  'redis/im_worker',
  'redis/hotgo_admin',
  'kafka/im-core',
  'kafka/outbox-and-cron',
  'kafka/hotgo-admin-api',
  'auth/token_key',
  'admin/token_key',
  'admin/first_password',
];

/** Makes what is missing. Secrets that are there stay; those written in the settings are copied to a file of their own. */
export async function ensureSecrets(place: StatePlace, settings: Settings): Promise<Secrets> {
  const state = place.directory;
  for (const path of GENERATED) await ensureSecret(state, path);
  const passwords = new Map<string, string>();
  for (const user of redisUsers()) passwords.set(user, await ensureSecret(state, `redis/${user}`));
  await writePrivate(join(state, 'redis/users.acl'), redisAcl(passwords));
  return {
    file: (path) => place.shown(path),
    internalApi: await services(place, 'internal_api', settings),
    adminInternalApi: await services(place, 'admin_internal_api', settings),
  };
}

type Door = 'internal_api' | 'admin_internal_api';

/** The one service of each door that belongs to the appliance itself; an operator's list adds to it. */
const OWN: Readonly<Record<Door, (settings: Settings) => readonly [string, readonly string[]]>> = {
  internal_api: () => ['hotgo-admin', ['admin_query']],
  admin_internal_api: (settings) => [settings.admin_internal_api.service_name, ['im_config']],
};

async function services(place: StatePlace, door: Door, settings: Settings): Promise<readonly RenderedService[]> {
  const [own, allow] = OWN[door](settings);
  const authored: Settings['internal_api']['services'] = settings[door].services;
  const all = { [own]: { allow, keys: [] }, ...authored };
  const rendered: RenderedService[] = [];
  for (const [name, service] of Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1))) {
    rendered.push({ name, allow: service.allow, keys: await keys(place, `${door}/${name}`, service.keys) });
  }
  return rendered;
}

type AuthoredKeys = Settings['internal_api']['services'][string]['keys'];

async function keys(place: StatePlace, folder: string, authored: AuthoredKeys): Promise<readonly RenderedKey[]> {
  if (authored.length === 0) {
    await ensureSecret(place.directory, `${folder}/generated`);
    return [{ id: 'generated', secret_file: place.shown(`${folder}/generated`), not_after: null }];
  }
  const rendered: RenderedKey[] = [];
  for (const { id, secret, secret_file, not_after } of authored) {
    const path = `${folder}/key-${id}`;
    if (secret !== null) await writePrivate(join(place.directory, path), `${secret}\n`);
    rendered.push({ id, secret_file: secret_file === null ? place.shown(path) : place.shownOwn(secret_file, path), not_after });
  }
  return rendered;
}

/** The key that a service of ours signs with: the one that is good for longest; of two, the first. */
export function signingKey(list: readonly RenderedService[], name: string): RenderedKey {
  const keysOf = list.find((service) => service.name === name)?.keys ?? [];
  const lasting = keysOf.toSorted((a, b) => rank(b).localeCompare(rank(a)));
  const [key] = lasting;
  if (key === undefined) throw new Error(`service ${name} has no key`);
  return key;
}

function rank({ not_after }: RenderedKey): string {
  return not_after ?? '9999';
}
