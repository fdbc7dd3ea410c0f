import { syncRequiredFrame } from '#shared/contract/frame-body.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Session } from '../gateway/sessions.ts';

export interface HeartbeatDeps {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Keeps the device online. LAPSED: it had fallen out and is in again, what came meanwhile was not pushed;
   * REPLACED: another connection of the device is bound.
   */
  readonly refreshDevice: (session: Session) => Promise<'OK' | 'LAPSED' | 'REPLACED'>;
}

/**
 * Answers at once, in the event loop (FRM-14); presence follows in its own time. Before AUTH there is only the answer.
 *
 * Wire  command 2, `{}` or nothing -> `{"server_time": "..."}`
 */
export function heartbeat({ clock, log, refreshDevice }: HeartbeatDeps, session: Session | undefined): { server_time: string } {
  const now = clock.now();
  if (session !== undefined) {
    refreshDevice(session).then(
      (outcome) => {
        if (outcome === 'LAPSED') session.push(syncRequiredFrame(session.tenant, clock.now()));
        if (outcome === 'REPLACED') session.kick('REPLACED');
      },
      (error: unknown) => {
        const cause = error instanceof Error ? error : new Error(String(error));
        log.warn({ connection_id: session.connectionId, error: cause }, 'presence was not refreshed');
      },
    );
  }
  return { server_time: now.toISOString() };
}
