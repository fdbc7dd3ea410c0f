import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Fault } from './cross-checks.ts';
import type { Settings } from './schema.ts';

export interface Outside {
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
}

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;
const MIN_SECRET_CHARS = 32;

/** Checks the files that the settings name: own certificates and keys of services. Reads them, never changes them. */
export async function externalChecks(settings: Settings, now: Date): Promise<Outside> {
  const certificates = await Promise.all(
    (['api', 'im', 'admin'] as const).map(async (role) => {
      const own = settings.tls[role];
      return own === null ? NOTHING : checkCertificate(`tls.${role}`, settings.domain[role], own, now);
    }),
  );
  const keys = await checkKeyFiles(settings, now);
  return join([...certificates, keys]);
}

const NOTHING: Outside = { faults: [], warnings: [] };

function join(parts: readonly Outside[]): Outside {
  return { faults: parts.flatMap(({ faults }) => faults), warnings: parts.flatMap(({ warnings }) => warnings) };
}

interface OwnCertificate {
  readonly cert_file: string;
  readonly key_file: string;
}

/** Nginx takes an expired certificate and one for another name without a word, so we look. */
async function checkCertificate(at: string, name: string, own: OwnCertificate, now: Date): Promise<Outside> {
  const certificate = await parsed(own.cert_file, (text) => new X509Certificate(text));
  const key = await parsed(own.key_file, (text) => createPrivateKey(text));
  const faults: Fault[] = [];
  if (typeof certificate === 'string') faults.push([`${at}.cert_file`, certificate]);
  if (typeof key === 'string') faults.push([`${at}.key_file`, key]);
  if (typeof certificate === 'string' || typeof key === 'string') return { faults, warnings: [] };
  const ends = new Date(certificate.validTo);
  const days = Math.floor((ends.getTime() - now.getTime()) / DAY_MS);
  if (!certificate.checkPrivateKey(key)) faults.push([`${at}.key_file`, 'is not the key of this certificate']);
  if (certificate.checkHost(name, { subject: 'never' }) === undefined) faults.push([`${at}.cert_file`, `is not for ${name}`]);
  if (ends <= now) faults.push([`${at}.cert_file`, `expired on ${ends.toISOString().slice(0, 10)}`]);
  else if (new Date(certificate.validFrom) > now) faults.push([`${at}.cert_file`, 'is not valid yet']);
  const warnings =
    ends > now && days < SOON_DAYS ? [`${at}.cert_file (${name}) expires in ${days} days, on ${ends.toISOString().slice(0, 10)}`] : [];
  return { faults, warnings };
}

/** The parsed file, or what is wrong with it; never a piece of it. */
async function parsed<T>(file: string, parse: (text: string) => T): Promise<T | string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => error as NodeJS.ErrnoException);
  if (typeof text !== 'string') return `${file} cannot be read (${text.code ?? 'unknown'})`;
  try {
    return parse(text);
  } catch {
    return `${file} is not PEM of the right kind, or has a password`;
  }
}

async function checkKeyFiles(settings: Settings, now: Date): Promise<Outside> {
  const faults: Fault[] = [];
  const warnings: string[] = [];
  const owners = new Map<string, string>();
  for (const door of ['internal_api', 'admin_internal_api'] as const) {
    for (const [name, { keys }] of Object.entries(settings[door].services)) {
      const owner = `${door}.services.${name}`;
      for (const [index, { secret, secret_file, not_after }] of keys.entries()) {
        const at = `${owner}.keys[${index}]`;
        if (not_after !== null && new Date(not_after) <= now) warnings.push(`${at} expired on ${not_after}`);
        const text = secret_file === null ? secret : await readSecretFile(secret_file);
        if (text === null) continue;
        if (secret_file !== null && text.length < MIN_SECRET_CHARS) {
          faults.push([`${at}.secret_file`, `cannot be read, or has less than ${MIN_SECRET_CHARS} characters`]);
          continue;
        }
        const print = createHash('sha256').update(text).digest('hex');
        const first = owners.get(print);
        if (first !== undefined && secret_file !== null) faults.push([`${at}.secret_file`, `is the same secret as one of ${first}`]);
        owners.set(print, owner);
      }
    }
  }
  return { faults, warnings };
}

async function readSecretFile(file: string): Promise<string> {
  return readFile(file, 'utf8').then(
    (text) => text.trimEnd(),
    () => '',
  );
}
