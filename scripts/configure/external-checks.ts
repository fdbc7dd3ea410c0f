import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { SECRET } from '#shared/platform/hmac/config.ts';
import type { Fault } from './cross-checks.ts';
import type { Settings } from './schema.ts';

export interface Outside {
  readonly faults: readonly Fault[];
  readonly warnings: readonly string[];
  /** SHA-256 of what stands in each file, by the setting that names it: who reads the file must read it anew when this changes. */
  readonly prints: Readonly<Record<string, string>>;
}

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

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

const NOTHING: Outside = { faults: [], warnings: [], prints: {} };

function join(parts: readonly Outside[]): Outside {
  return {
    faults: parts.flatMap(({ faults }) => faults),
    warnings: parts.flatMap(({ warnings }) => warnings),
    prints: Object.fromEntries(parts.flatMap(({ prints }) => Object.entries(prints))),
  };
}

function printOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

interface OwnCertificate {
  readonly cert_file: string;
  readonly key_file: string;
}

/** Nginx takes an expired certificate and one for another name without a word, so we look. */
async function checkCertificate(at: string, name: string, own: OwnCertificate, now: Date): Promise<Outside> {
  const [chain, certificate] = await parsed(own.cert_file, (text) => new X509Certificate(text));
  const [keyText, key] = await parsed(own.key_file, (text) => createPrivateKey(text));
  const faults: Fault[] = [];
  if (typeof certificate === 'string') faults.push([`${at}.cert_file`, certificate]);
  if (typeof key === 'string') faults.push([`${at}.key_file`, key]);
  if (typeof certificate === 'string' || typeof key === 'string') return { ...NOTHING, faults };
  const ends = new Date(certificate.validTo);
  const days = Math.floor((ends.getTime() - now.getTime()) / DAY_MS);
  if (!certificate.checkPrivateKey(key)) faults.push([`${at}.key_file`, 'is not the key of this certificate']);
  else if (!isUsable(chain, keyText))
    faults.push([`${at}.cert_file`, 'TLS cannot use it: too weak a key, or a broken certificate in the chain']);
  if (certificate.checkHost(name, { subject: 'never' }) === undefined) faults.push([`${at}.cert_file`, `is not for ${name}`]);
  if (ends <= now) faults.push([`${at}.cert_file`, `expired on ${ends.toISOString().slice(0, 10)}`]);
  else if (new Date(certificate.validFrom) > now) faults.push([`${at}.cert_file`, 'is not valid yet']);
  const warnings =
    ends > now && days < SOON_DAYS ? [`${at}.cert_file (${name}) expires in ${days} days, on ${ends.toISOString().slice(0, 10)}`] : [];
  return { faults, warnings, prints: { [`${at}.cert_file`]: printOf(chain), [`${at}.key_file`]: printOf(keyText) } };
}

/** Whether a server could start with them: the whole chain is read, and the key judged by today's measure. */
function isUsable(cert: string, key: string): boolean {
  try {
    createSecureContext({ cert, key });
    return true;
  } catch {
    return false;
  }
}

/** The file's text, and it parsed or what is wrong with it; the latter never has a piece of the former. */
async function parsed<T>(file: string, parse: (text: string) => T): Promise<readonly [text: string, T | string]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => error as NodeJS.ErrnoException);
  if (typeof text !== 'string') return ['', `${file} cannot be read (${text.code ?? 'unknown'})`];
  try {
    return [text, parse(text)];
  } catch {
    return [text, `${file} is not PEM of the right kind, or has a password`];
  }
}

interface KeyPlace {
  /** `internal_api.services.crm` */
  readonly owner: string;
  readonly at: string;
  readonly key: Settings['internal_api']['services'][string]['keys'][number];
}

async function checkKeyFiles(settings: Settings, now: Date): Promise<Outside> {
  const faults: Fault[] = [];
  const warnings: string[] = [];
  const prints: Record<string, string> = {};
  const owners = new Map<string, string>();
  for (const { owner, at, key } of keyPlaces(settings)) {
    const { secret, secret_file, not_after } = key;
    if (not_after !== null && new Date(not_after) <= now) warnings.push(`${at} expired on ${not_after}`);
    const text = secret_file === null ? (secret ?? '') : await readSecretFile(secret_file);
    if (secret_file !== null && !SECRET.pattern.test(text)) {
      faults.push([`${at}.secret_file`, `must hold ${SECRET.description}, and be readable`]);
      continue;
    }
    const print = printOf(text);
    const first = owners.get(print);
    if (first !== undefined && secret_file !== null) faults.push([`${at}.secret_file`, `is the same secret as one of ${first}`]);
    owners.set(print, owner);
    if (secret_file !== null) prints[`${at}.secret_file`] = print;
  }
  return { faults, warnings, prints };
}

function keyPlaces(settings: Settings): readonly KeyPlace[] {
  return (['internal_api', 'admin_internal_api'] as const).flatMap((door) =>
    Object.entries(settings[door].services).flatMap(([name, { keys }]) =>
      keys.map((key, index) => ({ owner: `${door}.services.${name}`, at: `${door}.services.${name}.keys[${index}]`, key })),
    ),
  );
}

async function readSecretFile(file: string): Promise<string> {
  return readFile(file, 'utf8').then(
    (text) => text.trimEnd(),
    () => '',
  );
}
