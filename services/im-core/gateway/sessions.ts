import type { Session } from './session.ts';

export type { Identity, OutFrame, PushExpectation, Session } from './session.ts';

/**
 * The authenticated sessions of this process. One per (tenant, user, device): a newer login of the device replaces the older (SES-03),
 * other devices of the user stay (SES-04). Late closes are told apart by connection id.
 */
export class Sessions {
  readonly #byUser = new Map<string, Map<bigint, Session>>();

  /**
   * Connection ids sort by age: the newer of two connections of a device stays, in whatever order they get here.
   *
   * @returns the older session that was replaced, which has been sent KICK and is closing; or `session` itself, not bound, when it
   *   is the older one
   */
  bind(session: Session): Session | undefined {
    const devices = this.#devicesOf(session);
    const bound = devices.get(session.deviceId);
    if (bound !== undefined && bound.connectionId > session.connectionId) return session;
    devices.set(session.deviceId, session);
    if (bound === undefined || bound.connectionId === session.connectionId) return undefined;
    bound.kick('REPLACED');
    return bound;
  }

  /** Forgets the session unless a newer connection of its device has taken the place. */
  unbind(session: Session): void {
    const key = userKey(session.tenant, session.userId);
    const devices = this.#byUser.get(key);
    if (devices?.get(session.deviceId)?.connectionId !== session.connectionId) return;
    devices.delete(session.deviceId);
    if (devices.size === 0) this.#byUser.delete(key);
  }

  of(tenant: string, userId: bigint): readonly Session[] {
    return [...(this.#byUser.get(userKey(tenant, userId))?.values() ?? [])];
  }

  get(tenant: string, userId: bigint, deviceId: bigint): Session | undefined {
    return this.#byUser.get(userKey(tenant, userId))?.get(deviceId);
  }

  *all(): Generator<Session> {
    for (const devices of this.#byUser.values()) yield* devices.values();
  }

  #devicesOf({ tenant, userId }: Session): Map<bigint, Session> {
    const key = userKey(tenant, userId);
    const known = this.#byUser.get(key);
    if (known !== undefined) return known;
    const devices = new Map<bigint, Session>();
    this.#byUser.set(key, devices);
    return devices;
  }
}

function userKey(tenant: string, userId: bigint): string {
  return `${tenant}:${userId.toString()}`;
}
