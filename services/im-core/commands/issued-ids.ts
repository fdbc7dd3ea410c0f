import type { Clock } from '#shared/platform/clock/clock.ts';

/** Ids a device may hold unused at once; the oldest is forgotten first. */
const MAX_HELD = 64;
/** Devices remembered at most; then the one that asked longest ago is forgotten. */
const MAX_DEVICES = 50_000;

/**
 * The ids that GENERATE_MSG_ID gave out in this process. A SEND_MESSAGE may only use one that was issued to its own device and not used;
 * any other is quietly replaced by a new id (MSG-10). Forgetting is harmless for the same reason.
 *
 * @see MSG-07 @see MSG-08
 */
export class IssuedIds {
  readonly #clock: Clock;
  readonly #expireMs: number;
  readonly #held = new Map<string, Map<bigint, number>>();

  constructor(clock: Clock, expireMs: number) {
    this.#clock = clock;
    this.#expireMs = expireMs;
  }

  issued(device: string, id: bigint): void {
    const ids = this.#held.get(device) ?? new Map<bigint, number>();
    ids.set(id, this.#clock.nowMs());
    for (const oldest of ids.keys()) {
      if (ids.size <= MAX_HELD) break;
      ids.delete(oldest);
    }
    this.#held.delete(device);
    this.#held.set(device, ids);
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= MAX_DEVICES) break;
      this.#held.delete(oldest);
    }
  }

  /** Whether the id was issued to this device and is young enough. It stays held: a retry carries it again. */
  isOwn(device: string, id: bigint): boolean {
    const at = this.#held.get(device)?.get(id);
    return at !== undefined && Math.abs(this.#clock.nowMs() - at) <= this.#expireMs;
  }
}

export function deviceKey({ tenant, userId, deviceId }: { tenant: string; userId: bigint; deviceId: bigint }): string {
  return `${tenant}:${userId.toString()}:${deviceId.toString()}`;
}
