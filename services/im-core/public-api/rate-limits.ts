import { TokenBuckets } from '#shared/platform/limits/token-buckets.ts';
import type { Identity } from '#shared/tenant/user/authenticate.ts';

/** The rendered `rate_limit`, as far as it concerns HTTP. */
export interface HttpLimitSettings {
  readonly auth_per_second: number;
  readonly history_per_minute: number;
}

/** What one address may try at the door, and one device may read. In memory of this one process, like the limits of the gateway. @see LIM-02 @see LIM-05 */
export class HttpLimits {
  readonly #door: TokenBuckets;
  readonly #history: TokenBuckets;

  constructor(settings: HttpLimitSettings, nowMs?: () => number) {
    this.#door = new TokenBuckets({ size: settings.auth_per_second, periodMs: 1_000 }, nowMs);
    this.#history = new TokenBuckets({ size: settings.history_per_minute, periodMs: 60_000 }, nowMs);
  }

  /** Registering, logging in, renewing a login. @throws {Refusal} RATE_LIMITED with retry_after_ms */
  assertDoor(realIp: string): void {
    this.#door.assert(realIp);
  }

  /** @throws {Refusal} RATE_LIMITED with retry_after_ms */
  assertHistory({ tenant, userId, deviceId }: Pick<Identity, 'tenant' | 'userId' | 'deviceId'>): void {
    this.#history.assert(`${tenant}:${userId.toString()}:${deviceId.toString()}`);
  }
}
