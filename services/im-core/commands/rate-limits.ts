import { COMMANDS } from '#shared/contract/commands.ts';
import { TokenBuckets } from '#shared/platform/limits/token-buckets.ts';
import type { Identity } from '../gateway/sessions.ts';

/** The rendered `rate_limit`. */
export interface RateLimitSettings {
  readonly message_per_second: number;
  readonly auth_per_second: number;
  readonly sync_inbox_per_minute: number;
  readonly sync_messages_per_minute: number;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/**
 * What one device may ask on its connections, and one address before anybody is known. Asked before a request enters the task pool, so that
 * a flood costs nothing but its answers. In memory: it holds for the one im-core process of this version, and starts anew with it.
 *
 * @see LIM-01 .. LIM-04
 */
export class RateLimits {
  readonly #auth: TokenBuckets;
  readonly #ofCommand: ReadonlyMap<number, TokenBuckets>;

  constructor(settings: RateLimitSettings, nowMs?: () => number) {
    const buckets = (size: number, periodMs: number): TokenBuckets => new TokenBuckets({ size, periodMs }, nowMs);
    this.#auth = buckets(settings.auth_per_second, SECOND_MS);
    this.#ofCommand = new Map([
      [COMMANDS.SEND_MESSAGE, buckets(settings.message_per_second, SECOND_MS)],
      [COMMANDS.SYNC_INBOX, buckets(settings.sync_inbox_per_minute, MINUTE_MS)],
      [COMMANDS.SYNC_MESSAGES, buckets(settings.sync_messages_per_minute, MINUTE_MS)],
    ]);
  }

  /** @throws {Refusal} RATE_LIMITED with retry_after_ms */
  assertAuth(realIp: string): void {
    this.#auth.assert(realIp);
  }

  /** Commands that have no limit pass. @throws {Refusal} RATE_LIMITED with retry_after_ms */
  assertCommand({ tenant, userId, deviceId }: Identity, command: number): void {
    this.#ofCommand.get(command)?.assert(`${tenant}:${userId.toString()}:${deviceId.toString()}`);
  }
}
