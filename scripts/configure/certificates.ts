/**
 * The appliance's own certificate authority and what it signs. All use of the X.509 library is in this file.
 *
 * The authority lives 10 years and is made once; a certificate of a name lives 397 days, the most that browsers take, and is made anew
 * under 30 days left, when the name changed, or when key and certificate do not belong together.
 */
import 'reflect-metadata';
import { createPrivateKey, randomBytes, webcrypto, X509Certificate as NodeCertificate } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** PEM texts. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_652;
const CERTIFICATE_DAYS = 397;
const RENEW_UNDER_DAYS = 30;
/** Clocks of clients may be a little behind. */
const EARLIER_MS = 3_600_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export async function makeAuthority(now: Date): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(now, AUTHORITY_DAYS),
    serialNumber: serialNumber(),
    name: [{ CN: [`IM Appliance CA ${randomBytes(4).toString('hex')}`] }],
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: await privateKeyPem(keys.privateKey) };
}

/** A certificate for one host name, for servers only. */
export async function issue(authority: KeyPair, name: string, now: Date): Promise<KeyPair> {
  const issuer = new X509Certificate(authority.certificate);
  const der = createPrivateKey(authority.key).export({ format: 'der', type: 'pkcs8' });
  const signingKey = await webcrypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.create({
    ...validity(now, CERTIFICATE_DAYS),
    serialNumber: serialNumber(),
    subject: [{ CN: [name.slice(0, 64)] }],
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: await privateKeyPem(keys.privateKey) };
}

/** Whether a certificate that lies there may go on: ours, for this name, with its key, and not about to expire. */
export function isStillGood(pair: KeyPair, authority: KeyPair, name: string, now: Date): boolean {
  try {
    const certificate = new NodeCertificate(pair.certificate);
    const isOurs = certificate.verify(new NodeCertificate(authority.certificate).publicKey);
    const msLeft = new Date(certificate.validTo).getTime() - now.getTime();
    return (
      isOurs &&
      certificate.checkHost(name, { subject: 'never' }) !== undefined &&
      certificate.checkPrivateKey(createPrivateKey(pair.key)) &&
      msLeft >= RENEW_UNDER_DAYS * DAY_MS
    );
  } catch {
    return false;
  }
}

function validity(now: Date, days: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(now.getTime() - EARLIER_MS), notAfter: new Date(now.getTime() - EARLIER_MS + days * DAY_MS) };
}

/** Positive and random, 127 bits. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem').trimEnd()}\n`;
}

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'pem', type: 'pkcs8' }).toString();
}
