import type { BenchResult, NaiveFigures } from './bench.ts';
import type { Point } from './load-point.ts';
import type { Comparison, Latency } from './samples.ts';

/** A mute must be known to the member's client within this (p99, ms). */
const MUTE_GOAL_MS = 300;

/** The result for people. */
export function reportText(result: BenchResult): string {
  return [
    ...machineLines(result),
    '',
    ...startLines(result),
    '',
    ...pointLines(result.points),
    '',
    ...rawLines(result),
    '',
    ...naiveLines(result.naive),
    ...(result.profile.length === 0 ? [] : ['', 'im-core, time of its own by function:', ...result.profile]),
  ].join('\n');
}

/** The same for programs: names in snake_case, times and latencies in the unit of their name. */
export function reportJson(result: BenchResult): string {
  return `${JSON.stringify(snakeCase(result), null, 2)}\n`;
}

function machineLines({ size, startedAt, machine, versions, load, settings }: BenchResult): readonly string[] {
  const others = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    `IM Appliance bench (${size}), ${startedAt}`,
    `  machine   ${machine.cores} cores (${machine.cpu}), ${machine.memoryMib} MiB, Linux ${machine.kernel}; clients, services and servers share them`,
    `  versions  ${others.join(', ')}`,
    '  MySQL     durable: binary log, sync_binlog=1, innodb_flush_log_at_trx_commit=1',
    ...(machine.isDataInMemory ? ['  WARNING   the data lie in memory, so a sync costs nothing: none of this says what a disk does'] : []),
    `  load      ${load.before} before, ${load.after} at the end (processes that want a core, last minute)`,
    ...(load.before > machine.cores / 4 ? ['  WARNING   other work ran on this machine; believe no figure of this run'] : []),
    '  settings',
    ...settings.trimEnd().split('\n').map((line) => `    ${line}`), // prettier-ignore
  ];
}

function startLines({ start, smoke, mute }: BenchResult): readonly string[] {
  const { acceptedToEventMs: accepted, orderedToEventMs: ordered } = mute;
  const verdict = accepted.p99 !== undefined && accepted.p99 < MUTE_GOAL_MS ? 'met' : 'missed';
  return [
    `start of a fresh home, caches warm: ${start.seconds} s`,
    ...start.steps.map((line) => `  ${line}`),
    'smoke, ms by step',
    ...smoke.map(({ name, ms }) => `  ${ms.toFixed(1).padStart(8)}  ${name}`),
    `mute, ${accepted.count} times, ms`,
    `  accepted -> client has EVENT  ${latency(accepted)}  (goal: p99 under ${MUTE_GOAL_MS}, ${verdict})`,
    `  ordered  -> client has EVENT  ${latency(ordered)}`,
  ];
}

const COLUMNS =
  'connections x in flight    acked/s  delivered/s   ack p50    p99 ms   delivery p50    p99 ms   acks/CPU s   backlog  drained s';

function pointLines(points: readonly Point[]): readonly string[] {
  return [
    'messages, P2P, over TLS through nginx',
    `  ${COLUMNS}`,
    ...points.map(
      (point) =>
        `  ${`${point.connections} x ${point.inFlight}`.padEnd(23)}${figures(point)}${cell(point.backlog, 10)}${cell(point.drainSeconds, 11)}`,
    ),
    ...points.flatMap((point) => [cpuLine(point), ...troubleLines(point)]),
  ];
}

function figures({ ackedPerSecond, deliveredPerSecond, ackMs, deliveryMs, acksPerCpuSecond }: Point): string {
  const rates = cell(ackedPerSecond, 11) + cell(deliveredPerSecond, 13);
  return `${rates}${cell(ackMs.p50, 10)}${cell(ackMs.p99, 10)}${cell(deliveryMs.p50, 15)}${cell(deliveryMs.p99, 10)}${cell(acksPerCpuSecond, 13)}`;
}

function cpuLine({ connections, inFlight, seconds, cpu }: Point): string {
  const shares = Object.entries(cpu).filter(([, spent]) => spent / seconds >= 0.005);
  const text = shares.map(([name, spent]) => `${name} ${((spent / seconds) * 100).toFixed(0)} %`).join(', ');
  return `  CPU of a core at ${connections} x ${inFlight} (${seconds} s): ${text}`;
}

function troubleLines({ connections, refused, undelivered, syncsRequired, backlog, ackedPerSecond }: Point): readonly string[] {
  const codes = Object.entries(refused).map(([code, count]) => `${count} x ${code}`);
  return [
    ...(codes.length === 0 ? [] : [`  refused at ${connections}: ${codes.join(', ')}`]),
    ...(syncsRequired === 0 ? [] : [`  told to sync at ${connections}: ${syncsRequired} times; what is left to a sync is not delivered as a frame`]),
    ...(backlog <= ackedPerSecond
      ? []
      : [`  DELIVERY FELL BEHIND at ${connections}: ${backlog} acknowledged messages waited at the end, more than a second's worth`]),
    ...(undelivered === 0 ? [] : [`  NOT DELIVERED as a frame at ${connections}: ${undelivered}`]),
  ]; // prettier-ignore
}

function rawLines({ raw }: BenchResult): readonly string[] {
  const { batch, connections, seconds, rowsPerSecond, share, gate } = raw;
  return [
    `raw group commits, batches of ${batch} in one packet on ${connections} connections, ${seconds} s: ${rowsPerSecond} rows/s`,
    `  acked/s at the most connections is ${(share * 100).toFixed(1)} % of it (gate ${gate * 100} %, ${share >= gate ? 'met' : 'missed'}; goal 40 %)`,
  ];
}

function naiveLines({ lanes, trials, pairs, acked, delivered, perCpuSecond, ackP50 }: NaiveFigures): readonly string[] {
  return [
    'against one transaction per message: the same process, the same checks, in turns',
    `  lanes tried: ${trials.map((trial) => `${trial.lanes} -> ${trial.ackedPerSecond} acked/s`).join(', ')}; ${lanes} taken`,
    `  ${COLUMNS}`,
    ...pairs.flatMap(({ batched, naive }, n) => [pairLine(`pair ${n + 1} ours`, batched), pairLine(`pair ${n + 1} naive`, naive)]),
    ...pairs.flatMap(({ batched, naive }) => [...troubleLines(batched), ...troubleLines(naive)]),
    comparisonLine('acked/s', acked),
    comparisonLine('delivered/s', delivered),
    comparisonLine('acks per CPU s', perCpuSecond),
    comparisonLine('ack p50 (naive through ours)', ackP50),
  ];
}

function pairLine(name: string, point: Point): string {
  return `  ${name.padEnd(23)}${figures(point)}${cell(point.backlog, 10)}${cell(point.drainSeconds, 11)}`;
}

function comparisonLine(name: string, { pairs, ratio, same, goal, verdict }: Comparison): string {
  const list = (values: readonly number[]): string => values.map((value) => value.toFixed(2)).join(' ');
  return `  ${name.padEnd(29)} ${ratio.toFixed(1)}x  (pairs ${list(pairs)}; A against A ${list(same)}; goal ${goal}x: ${verdict})`;
}

function latency({ p50, p99 }: Latency): string {
  return `p50 ${p50 ?? '-'}  p99 ${p99 ?? '-'}`;
}

function cell(value: number | undefined, width: number): string {
  return String(value ?? '-').padStart(width);
}

function snakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), snakeCase(inner)]),
  );
}
