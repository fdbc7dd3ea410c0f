import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { Redis } from '#shared/platform/redis/redis.ts';
import type { Device } from '#shared/tenant/deliver/dialog-lists.ts';
import { pushToProcess } from '#shared/tenant/presence/process-inbox.ts';
import type { OutFrame, Sessions } from '../gateway/sessions.ts';

export interface HandOverDeps {
  readonly sessions: Sessions;
  readonly redis: Redis;
  readonly processId: string;
  readonly base: string;
  readonly metrics: HandOverMetrics;
}

export interface HandOverMetrics {
  handedOver(count: number): void;
}

/** A frame for many devices; encoded once. */
export interface HandOver {
  readonly tenant: string;
  readonly frame: OutFrame;
  /** Called for a device that did not acknowledge in time; without it no PUSH_ACK is expected. */
  readonly onTimeout?: (device: Device) => void;
}

/**
 * Gives a frame to the sessions of devices: to those of this process at once, to others through the list of their process.
 *
 * @returns the devices that could not be reached
 * @see DLV-14
 */
export async function handOver(
  deps: HandOverDeps,
  devices: readonly Device[],
  { tenant, frame, onTimeout }: HandOver,
): Promise<readonly Device[]> {
  const failed: Device[] = [];
  const remote = new Map<string, Device[]>();
  for (const device of devices) {
    if (device.processId !== deps.processId) {
      remote.set(device.processId, [...(remote.get(device.processId) ?? []), device]);
    } else if (!pushLocally(deps, device, { tenant, frame, ...(onTimeout === undefined ? {} : { onTimeout }) })) {
      failed.push(device);
    }
  }
  for (const [processId, targets] of remote) {
    const items = targets.map((device) => ({ tenant, device, command: frame.command, body: frame.body.toString('utf8') }));
    const overflow = await pushToProcess(deps.redis, deps.base, processId, items);
    failed.push(...overflow.map(({ device }) => device));
  }
  deps.metrics.handedOver(devices.length - failed.length);
  return failed;
}

/** False when the session of that connection is gone or its queue is full. */
export function pushLocally({ sessions }: Pick<HandOverDeps, 'sessions'>, device: Device, { tenant, frame, onTimeout }: HandOver): boolean {
  const session = sessions.get(tenant, device.userId, device.deviceId);
  if (session?.connectionId !== device.connectionId) return false;
  if (onTimeout === undefined) return session.push(frame);
  return session.push(frame, { onTimeout: () => onTimeout(device) });
}

/** The figures of delivery (OBS-06, OBS-07); the gateway counts PUSH_ACK timeouts. */
export function deliverMetrics(metrics: Metrics): HandOverMetrics & { skipped(): void; jobSeconds(seconds: number): void } {
  const delivered = metrics.counter('deliver_handed_over_total', 'Frames given to sessions or to the list of their process.');
  const skipped = metrics.counter('deliver_idempotent_skip_total', 'Jobs that had taken effect already.');
  const latency = metrics.histogram('deliver_job_latency', 'Seconds a job was worked on, lists and hand-over.');
  return {
    handedOver: (count) => delivered.inc(count),
    skipped: () => skipped.inc(),
    jobSeconds: (seconds) => latency.observe(seconds),
  };
}
