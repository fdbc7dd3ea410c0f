import { join } from 'node:path';
import { isStillGood, issue, makeAuthority } from './certificates.ts';
import type { KeyPair } from './certificates.ts';
import type { Settings } from './schema.ts';
import type { StatePlace } from './state-place.ts';
import { readIfThere, writePrivate, writeWhole } from './state.ts';

export type Role = 'api' | 'im' | 'admin';
const ROLES: readonly Role[] = ['api', 'im', 'admin'];

export interface Certificates {
  readonly files: Readonly<Record<Role, { readonly certFile: string; readonly keyFile: string }>>;
  /** Names whose certificate was made by this run; who serves them must read it anew. */
  readonly renewed: readonly Role[];
}

/** The certificate of each name: the operator's by path, or one of our authority, made when missing or about to expire. */
export async function ensureCertificates(place: StatePlace, settings: Settings, now: Date): Promise<Certificates> {
  const state = place.directory;
  const authority = await ensureAuthority(state, now);
  const renewed: Role[] = [];
  const files: [Role, { certFile: string; keyFile: string }][] = [];
  for (const role of ROLES) {
    const own = settings.tls[role];
    if (own !== null) {
      files.push([
        role,
        { certFile: place.shownOwn(own.cert_file, `tls/own-${role}.pem`), keyFile: place.shownOwn(own.key_file, `tls/own-${role}.key`) },
      ]);
      continue;
    }
    const [certificate, key] = [`tls/${role}.pem`, `tls/${role}.key`];
    const paths = { certFile: join(state, certificate), keyFile: join(state, key) };
    if (await ensureCertificate(paths, authority, settings.domain[role], now)) renewed.push(role);
    files.push([role, { certFile: place.shown(certificate), keyFile: place.shown(key) }]);
  }
  return { files: Object.fromEntries(files) as Certificates['files'], renewed };
}

/** The key is written first: whoever is cut off between the two has an authority without certificate, and makes a new one. */
async function ensureAuthority(state: string, now: Date): Promise<KeyPair> {
  const [certificate, key] = await Promise.all([readIfThere(join(state, 'ca.pem')), readIfThere(join(state, 'ca.key'))]);
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const authority = await makeAuthority(now);
  await writePrivate(join(state, 'ca.key'), authority.key);
  await writeWhole(join(state, 'ca.pem'), authority.certificate, 0o644); // Clients need it; it is no secret.
  return authority;
}

async function ensureCertificate(
  { certFile, keyFile }: { readonly certFile: string; readonly keyFile: string },
  authority: KeyPair,
  name: string,
  now: Date,
): Promise<boolean> {
  const [certificate, key] = await Promise.all([readIfThere(certFile), readIfThere(keyFile)]);
  if (certificate !== undefined && key !== undefined && isStillGood({ certificate, key }, authority, name, now)) return false;
  const made = await issue(authority, name, now);
  await writePrivate(keyFile, made.key);
  await writePrivate(certFile, made.certificate);
  return true;
}
