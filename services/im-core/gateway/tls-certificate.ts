import { createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';

export interface CertificatePair {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** The certificate of the IM name. Replaced at run time: handshakes from then on use the new one, open connections stay. @see NET-05 */
export class TlsCertificate {
  #context: SecureContext;

  constructor(pair: CertificatePair) {
    this.#context = contextOf(pair);
  }

  get context(): SecureContext {
    return this.#context;
  }

  /** @throws when certificate and key do not parse or do not match; the old one stays */
  replace(pair: CertificatePair): void {
    this.#context = contextOf(pair);
  }
}

function contextOf({ cert, key }: CertificatePair): SecureContext {
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
}
