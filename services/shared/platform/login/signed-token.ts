import { jwtVerify, SignJWT } from 'jose';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Clock } from '../clock/clock.ts';

export interface TokenSettings {
  /** 32 random bytes. */
  readonly key: Buffer;
  /** Who issues and who accepts, so that a token of one door does not open another. */
  readonly audience: string;
  readonly ttlMs: number;
  readonly clock: Clock;
}

const MAX_TOKEN_CHARS = 4_096;

/** Signs short-lived tokens (HS256) and reads them back. Says nothing about whether the holder may still come in. */
export class SignedTokens {
  readonly #settings: TokenSettings;

  constructor(settings: TokenSettings) {
    if (settings.key.length < 32) throw new Error('a token key has at least 32 bytes');
    this.#settings = settings;
  }

  async issue(subject: string, claims: Readonly<Record<string, string>>): Promise<{ token: string; expiresAt: Date }> {
    const { key, audience, ttlMs, clock } = this.#settings;
    const issuedAt = Math.floor(clock.nowMs() / 1_000);
    const expires = issuedAt + Math.ceil(ttlMs / 1_000);
    const token = await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject(subject)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expires)
      .sign(key);
    return { token, expiresAt: new Date(expires * 1_000) };
  }

  /** @returns the claims, all texts; `sub` is the subject. @throws {Refusal} UNAUTHORIZED */
  async read(token: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { key, audience, clock } = this.#settings;
    if (token.length > MAX_TOKEN_CHARS) throw unauthorized();
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      audience,
      currentDate: clock.now(),
      requiredClaims: ['sub', 'exp', ...names],
    }).catch((cause: unknown) => {
      throw unauthorized(cause);
    });
    return new Map(
      ['sub', ...names].map((name) => {
        const value = payload[name];
        if (typeof value !== 'string') throw unauthorized();
        return [name, value];
      }),
    );
  }
}

function unauthorized(cause?: unknown): Refusal {
  return new Refusal('UNAUTHORIZED', 'the token is not valid', {}, { cause });
}
