import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Target } from '#client/tls-connection.ts';
import { cpuBetween } from './cpu-times.ts';
import type { CpuSeconds } from './cpu-times.ts';
import { LoadClient } from './load-client.ts';
import type { Seat } from './load-client.ts';
import { Samples } from './samples.ts';
import type { Latency } from './samples.ts';

/** How long a point is measured, in seconds. */
export interface Window {
  readonly warmUp: number;
  readonly atLeast: number;
  /** It goes on beyond `atLeast` until there are this many acks, but never beyond `atMost`. */
  readonly samples: number;
  readonly atMost: number;
  /** How long deliveries may come after the last ack. */
  readonly drain: number;
}

export interface PointDeps {
  readonly target: Target;
  /** CPU seconds so far of everybody who works for it. */
  readonly cpu: () => Promise<CpuSeconds>;
  /** Called at the beginning of the window and at its end. */
  readonly profile?: { start(): Promise<void>; stop(): Promise<void> };
}

/** Who sends and who only listens. */
export interface PointSeats {
  readonly senders: readonly Seat[];
  readonly listeners: readonly Seat[];
  /** Unanswered sends of each sender at any time. */
  readonly inFlight: number;
}

export interface Point {
  readonly connections: number;
  readonly inFlight: number;
  readonly seconds: number;
  readonly acked: number;
  readonly delivered: number;
  readonly ackedPerSecond: number;
  readonly deliveredPerSecond: number;
  readonly ackMs: Latency;
  /** From the send to the peer's frame. */
  readonly deliveryMs: Latency;
  readonly cpu: CpuSeconds;
  /** Of the appliance alone. */
  readonly acksPerCpuSecond: number;
  /** Refusals by code, warm-up included. */
  readonly refused: Readonly<Record<string, number>>;
  /** Acknowledged and not yet delivered at the end of the window. */
  readonly backlog: number;
  /** Until the last one was delivered (s). */
  readonly drainSeconds: number;
  /** Acknowledged and never delivered, whatever the reason. */
  readonly undelivered: number;
  readonly syncsRequired: number;
}

/** CPU time that is listed but not the appliance's: the bench's own, and that of everybody else on the machine. */
export const OWN_CPU = 'bench';
export const OTHERS_CPU = 'others';

/** @throws {Error} when a connection is lost */
export async function measurePoint(deps: PointDeps, seats: PointSeats, window: Window): Promise<Point> {
  const { senders, listeners, inFlight } = seats;
  const tally = new Tally();
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => undefined);
  const run = randomBytes(6).toString('hex');
  const open = (seat: Seat, n: number): Promise<LoadClient> =>
    LoadClient.open(deps.target, seat, { run: run.slice(0, 8) + n.toString(36).padStart(4, '0'), events: tally, onLost: lost.reject });
  const clients: LoadClient[] = [];
  try {
    // One after the other: how fast the gateway shakes hands is not what is measured.
    for (const [n, seat] of [...senders, ...listeners].entries()) clients.push(await open(seat, n));
    const sending = clients.slice(0, senders.length);
    return await Promise.race([lost.promise, runWindow(deps, sending, inFlight, window, tally)]);
  } finally {
    for (const client of clients) client.close();
  }
}

async function runWindow(
  { cpu, profile }: PointDeps,
  clients: readonly LoadClient[],
  inFlight: number,
  window: Window,
  tally: Tally,
): Promise<Point> {
  for (const client of clients) client.start(inFlight);
  await pause(window.warmUp * 1_000);
  await profile?.start();
  const [before, began] = [await cpu(), tally.begin()];
  await untilMeasured(tally, began, window);
  const [seconds, counted] = [(performance.now() - began) / 1_000, tally.end()];
  const spent = cpuBetween(before, await cpu());
  await profile?.stop();
  await Promise.all(clients.map((client) => client.stop()));
  const drainSeconds = await drained(tally, window.drain);
  const ofAppliance = Object.entries(spent).filter(([name]) => name !== OWN_CPU && name !== OTHERS_CPU);
  return {
    connections: clients.length,
    inFlight,
    seconds: round(seconds),
    ...counted,
    ackedPerSecond: Math.round(counted.acked / seconds),
    deliveredPerSecond: Math.round(counted.delivered / seconds),
    ackMs: tally.ackMs.summary(),
    deliveryMs: tally.deliveryMs.summary(),
    cpu: Object.fromEntries(Object.entries(spent).map(([name, value]) => [name, round(value)])),
    acksPerCpuSecond: Math.round(counted.acked / ofAppliance.reduce((sum, [, value]) => sum + value, 0)),
    refused: tally.refused,
    drainSeconds: round(drainSeconds),
    undelivered: tally.open,
    syncsRequired: tally.syncsRequired,
  };
}

async function untilMeasured(tally: Tally, began: number, { atLeast, atMost, samples }: Window): Promise<void> {
  await pause(atLeast * 1_000);
  while (tally.ackMs.count < samples && performance.now() - began < atMost * 1_000) await pause(250);
}

/** @returns seconds until everything acknowledged was delivered, or until nobody waits any longer */
async function drained(tally: Tally, patience: number): Promise<number> {
  const began = performance.now();
  while (tally.open > 0 && performance.now() - began < patience * 1_000) await pause(10);
  return (performance.now() - began) / 1_000;
}

/** What all clients of a point came to. Times are kept only within the window. */
class Tally {
  readonly ackMs = new Samples();
  readonly deliveryMs = new Samples();
  readonly refused: Record<string, number> = {};
  syncsRequired = 0;
  #acked = 0;
  #delivered = 0;
  #isMeasuring = false;
  #atBegin = { acked: 0, delivered: 0 };

  /** @returns the time of the beginning */
  begin(): number {
    this.#atBegin = { acked: this.#acked, delivered: this.#delivered };
    this.#isMeasuring = true;
    return performance.now();
  }

  end(): { acked: number; delivered: number; backlog: number } {
    this.#isMeasuring = false;
    return { acked: this.#acked - this.#atBegin.acked, delivered: this.#delivered - this.#atBegin.delivered, backlog: this.open };
  }

  /** Acknowledged and not delivered. */
  get open(): number {
    return Math.max(0, this.#acked - this.#delivered);
  }

  readonly onAck = (sentMs: number): void => {
    this.#acked += 1;
    if (this.#isMeasuring) this.ackMs.add(performance.now() - sentMs);
  };

  readonly onDelivered = (sentMs: number): void => {
    this.#delivered += 1;
    if (this.#isMeasuring) this.deliveryMs.add(performance.now() - sentMs);
  };

  readonly onRefused = (code: number): void => {
    this.refused[String(code)] = (this.refused[String(code)] ?? 0) + 1;
  };

  readonly onSyncRequired = (): void => {
    this.syncsRequired += 1;
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
