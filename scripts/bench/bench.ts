import { setTimeout as pause } from 'node:timers/promises';
import { OTHERS_CPU, OWN_CPU, measurePoint } from './load-point.ts';
import type { Point, PointDeps, Window } from './load-point.ts';
import { administrator, seatTenant } from './bench-world.ts';
import { BenchAppliance } from './bench-appliance.ts';
import type { StartFigures, WriterSetting } from './bench-appliance.ts';
import { cpuSeconds, machineCpuSeconds } from './cpu-times.ts';
import type { CpuSeconds } from './cpu-times.ts';
import type { Seat } from './load-client.ts';
import { load, thisMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { measureMute } from './mute-latency.ts';
import type { MuteLatency } from './mute-latency.ts';
import { Profiler } from './profile.ts';
import { measureRawCeiling } from './raw-ceiling.ts';
import type { RawCeiling } from './raw-ceiling.ts';
import { compare } from './samples.ts';
import type { Comparison } from './samples.ts';

/** How much is measured. Every number bounds the run. */
export interface BenchSize {
  readonly name: 'full' | 'quick';
  readonly window: Window;
  readonly pairs: number;
  /** For the choice of the naive writer's lanes (s). */
  readonly trialSeconds: number;
  readonly rawSeconds: number;
  readonly mutes: number;
}

export const FULL: BenchSize = {
  name: 'full',
  window: { warmUp: 5, atLeast: 20, samples: 10_000, atMost: 60, drain: 120 },
  pairs: 5,
  trialSeconds: 6,
  rawSeconds: 10,
  mutes: 50,
};

export const QUICK: BenchSize = {
  name: 'quick',
  window: { warmUp: 2, atLeast: 3, samples: 0, atMost: 3, drain: 60 },
  pairs: 2,
  trialSeconds: 2,
  rawSeconds: 3,
  mutes: 20,
};

/** A writer that takes one message into each transaction, with this many lanes. Each is a tenant of its own, in the same process. */
const NAIVE_LANES = [2, 8, 16] as const;
const POINTS = [
  { connections: 1, inFlight: 1 },
  { connections: 50, inFlight: 4 },
  { connections: 200, inFlight: 4 },
] as const;
const MOST = POINTS[2];
/** Goals of the comparison with the naive writer, and of the share of the raw ceiling. */
const NAIVE_GOAL = 8;
const CEILING_GATE = 0.2;

export interface NaiveFigures {
  /** Of the best trial. */
  readonly lanes: number;
  readonly trials: readonly { readonly lanes: number; readonly ackedPerSecond: number }[];
  readonly pairs: readonly { readonly batched: Point; readonly naive: Point }[];
  readonly acked: Comparison;
  readonly delivered: Comparison;
  readonly perCpuSecond: Comparison;
  /** The naive writer's p50 through ours. */
  readonly ackP50: Comparison;
}

export interface BenchResult {
  readonly size: BenchSize['name'];
  readonly startedAt: string;
  readonly machine: Machine;
  readonly versions: Readonly<Record<string, string>>;
  /** One-minute load average before anything was started and at the end; other work on the machine disturbs every figure. */
  readonly load: { readonly before: number; readonly after: number };
  readonly settings: string;
  readonly start: StartFigures;
  readonly smoke: readonly { readonly name: string; readonly ms: number }[];
  readonly mute: MuteLatency;
  readonly points: readonly Point[];
  readonly raw: RawCeiling & { readonly share: number; readonly gate: number };
  readonly naive: NaiveFigures;
  readonly profile: readonly string[];
}

export interface BenchOptions {
  readonly root: string;
  /** Made and removed again. */
  readonly home: string;
  readonly size: BenchSize;
  /** File for a CPU profile of im-core at the most connections. */
  readonly profile: string | undefined;
  /** Called at each step. */
  readonly say: (line: string) => void;
  /** What a long command says meanwhile. */
  readonly progress: (line: string) => void;
  /** Given the appliance as soon as there is one, for whoever has to remove it after an interruption. */
  readonly onAppliance: (appliance: BenchAppliance) => void;
}

/**
 * Starts an appliance of its own, measures it from outside, and removes it.
 *
 * @throws {Error} when something does not start or a connection is lost; what was started is removed then as well
 */
export async function runBench(options: BenchOptions): Promise<BenchResult> {
  const { root, home, size, say, progress, onAppliance } = options;
  const before = load();
  const startedAt = new Date().toISOString();
  const appliance = await BenchAppliance.prepare({ root, progress }, home, { tenants: NAIVE_LANES.map(naiveCode) });
  onAppliance(appliance);
  try {
    const machine = await thisMachine(home);
    say(`an appliance of its own is started in ${home} (port ${appliance.port})`);
    const start = await appliance.up();
    say(`up after ${start.seconds} s; smoke`);
    const { steps: smoke } = await appliance.smoke();
    const measured = await new Bench(appliance, options).measure();
    const versions = { node: process.versions.node, ...versionsOf(await appliance.status()) };
    return { size: size.name, startedAt, machine, versions, load: { before, after: load() }, settings: appliance.settings, start, smoke, ...measured }; // prettier-ignore
  } finally {
    say('the appliance is stopped and removed');
    await appliance.remove();
  }
}

type Measured = Pick<BenchResult, 'mute' | 'points' | 'raw' | 'naive' | 'profile'>;

class Bench {
  readonly #appliance: BenchAppliance;
  readonly #options: BenchOptions;
  readonly #seats = new Map<string, readonly Seat[]>();

  constructor(appliance: BenchAppliance, options: BenchOptions) {
    this.#appliance = appliance;
    this.#options = options;
  }

  async measure(): Promise<Measured> {
    const { size, say } = this.#options;
    say(`${size.mutes} mutes`);
    const mute = await this.#mute();
    say('users, friendships and conversations are made');
    for (const tenant of ['default', ...NAIVE_LANES.map(naiveCode)]) {
      this.#seats.set(tenant, await seatTenant(this.#appliance.home, tenant, MOST.connections / 2));
    }
    await this.#appliance.setWriters(NAIVE_LANES.map(naive));
    const points: Point[] = [];
    for (const spec of POINTS) points.push(await this.#point(`${spec.connections} x ${spec.inFlight}`, 'default', spec));
    const raw = await this.#raw(points.at(-1)?.ackedPerSecond ?? 0);
    const naiveFigures = await this.#compareWithNaive();
    return { mute, points, raw, naive: naiveFigures, profile: await this.#profile() };
  }

  async #mute(): Promise<MuteLatency> {
    const client = await this.#appliance.client();
    try {
      return await measureMute(client, await this.#appliance.admin(), this.#options.size.mutes);
    } finally {
      client.close();
    }
  }

  async #raw(ackedPerSecond: number): Promise<BenchResult['raw']> {
    this.#options.say('raw group commits');
    const login = await administrator(this.#appliance.home);
    const raw = await measureRawCeiling(login, 'bench_raw', this.#options.size.rawSeconds);
    return { ...raw, share: ackedPerSecond / raw.rowsPerSecond, gate: CEILING_GATE };
  }

  async #compareWithNaive(): Promise<NaiveFigures> {
    const { size } = this.#options;
    const trials: { lanes: number; ackedPerSecond: number }[] = [];
    const trial = { ...size.window, warmUp: 1, atLeast: size.trialSeconds, samples: 0 };
    for (const lanes of NAIVE_LANES) {
      const { ackedPerSecond } = await this.#point(`naive, ${lanes} lanes`, naiveCode(lanes), MOST, trial);
      trials.push({ lanes, ackedPerSecond });
    }
    const best = trials.reduce((a, b) => (b.ackedPerSecond > a.ackedPerSecond ? b : a));
    const pairs: { batched: Point; naive: Point }[] = [];
    for (let n = 1; n <= size.pairs; n += 1) {
      const batched = await this.#point(`pair ${n} of ${size.pairs}, ours`, 'default', MOST);
      pairs.push({ batched, naive: await this.#point(`pair ${n} of ${size.pairs}, naive`, naiveCode(best.lanes), MOST) });
    }
    const by = (figure: (point: Point) => number): Comparison =>
      compare(
        pairs.map(({ batched, naive: other }) => ({ a: figure(batched), b: figure(other) })),
        NAIVE_GOAL,
      );
    return {
      lanes: best.lanes,
      trials,
      pairs,
      acked: by(({ ackedPerSecond }) => ackedPerSecond),
      delivered: by(({ deliveredPerSecond }) => deliveredPerSecond),
      perCpuSecond: by(({ acksPerCpuSecond }) => acksPerCpuSecond),
      ackP50: by(({ ackMs }) => 1 / (ackMs.p50 ?? Number.NaN)),
    };
  }

  /** Last, because an open inspector costs time. */
  async #profile(): Promise<readonly string[]> {
    const { profile: file, size } = this.#options;
    if (file === undefined) return [];
    const pid = (await this.#appliance.status()).parts.find(({ name }) => name === 'im-core')?.pid;
    if (pid === undefined) throw new Error('im-core does not run');
    const profiler = await Profiler.open(pid);
    let lines: readonly string[] = [];
    const profile = { start: () => profiler.start(), stop: async () => void (lines = await profiler.stop(file, PROFILE_LINES)) };
    try {
      await this.#point('CPU profile of im-core', 'default', MOST, { ...size.window, samples: 0 }, profile);
    } finally {
      profiler.close();
    }
    return lines;
  }

  async #point(
    name: string,
    tenant: string,
    { connections, inFlight }: { connections: number; inFlight: number },
    window: Window = this.#options.size.window,
    profile?: PointDeps['profile'],
  ): Promise<Point> {
    const seats = this.#seats.get(tenant) ?? [];
    const groups = await this.#groups();
    const client = await this.#appliance.client();
    const cpu = (): Promise<CpuSeconds> => cpuOfAll(groups);
    const deps = { target: client.im, cpu, ...(profile === undefined ? {} : { profile }) };
    // A single sender's peer must be there as well, or nothing would be delivered.
    const listeners = connections === 1 ? seats.slice(1, 2) : [];
    const point = await measurePoint(deps, { senders: seats.slice(0, connections), listeners, inFlight }, window);
    client.close();
    const { ackedPerSecond, deliveredPerSecond, ackMs } = point;
    this.#options.say(`${name}: ${ackedPerSecond} acked/s, ${deliveredPerSecond} delivered/s, ack p50 ${ackMs.p50 ?? '-'} ms`);
    await pause(REST_MS); // closed connections are still being cleaned up
    return point;
  }

  async #groups(): Promise<ReadonlyMap<string, number>> {
    const { parts } = await this.#appliance.status();
    return new Map(parts.flatMap(({ name, pid }): [string, number][] => (pid === undefined ? [] : [[name, pid]])));
  }
}

const REST_MS = 500;
const PROFILE_LINES = 30;

function naiveCode(lanes: number): string {
  return `naive${lanes}`;
}

function naive(lanes: number): WriterSetting {
  return { tenant: naiveCode(lanes), lanes, batch_messages: 1 };
}

/** What nobody of ours took, somebody else did: the measure of how far a point can be believed. */
async function cpuOfAll(groups: ReadonlyMap<string, number>): Promise<CpuSeconds> {
  const { user, system } = process.cpuUsage();
  const ours = { ...(await cpuSeconds(groups)), [OWN_CPU]: (user + system) / 1_000_000 };
  const others = (await machineCpuSeconds()) - Object.values(ours).reduce((sum, seconds) => sum + seconds, 0);
  return { ...ours, [OTHERS_CPU]: others };
}

function versionsOf({ parts }: Awaited<ReturnType<BenchAppliance['status']>>): Readonly<Record<string, string>> {
  return Object.fromEntries(parts.flatMap(({ name, health }) => (health?.version === undefined ? [] : [[name, health.version] as const])));
}
