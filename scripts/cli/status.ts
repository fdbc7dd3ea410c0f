import { readSettings } from '#scripts/configure/settings.ts';
import { composeStatus } from '#scripts/images/compose-status.ts';
import { askStatus } from '#scripts/servers/control.ts';
import { homePaths } from '#scripts/servers/home.ts';
import type { PartStatus } from '#scripts/servers/part.ts';
import type { ApplianceStatus } from '#scripts/servers/supervisor.ts';
import type { Arguments, Command, Context, ExitCode } from './command.ts';
import { chosenRuntime, composeRuntime } from './runtime.ts';

export const command: Command = {
  summary: 'show each part: state, process, version, uptime, restarts, what waits in it, and whether it runs the configuration of the file',
  usage: '[--json] [--home DIR] [--file FILE]',
  options: { json: { kind: 'flag', summary: 'for programs' } },
  run: showStatus,
};

interface Row {
  readonly name: string;
  readonly state: string;
  readonly pid: number | null;
  readonly version: string | null;
  readonly uptime_seconds: number | null;
  readonly restarts: number;
  readonly config_hash: string | null;
  readonly degraded: readonly string[];
  /** By name: outbox_waiting (rows), outbox_oldest_seconds, deliver_waiting (jobs), consumer_lag (records), ... */
  readonly lag: Readonly<Record<string, number>>;
  readonly problem: string | null;
}

async function showStatus(context: Context, args: Arguments): Promise<ExitCode> {
  const { home, file } = context;
  const runtime = (await chosenRuntime(home)) ?? 'process';
  const status = await (runtime === 'compose' ? statusOfContainers(context) : askStatus(homePaths(home).control));
  const wanted = await readSettings({ now: new Date() }, file).catch((error: unknown) => ({ hash: undefined, warnings: [String(error)] }));
  const report = {
    running: status !== undefined,
    healthy: status?.isHealthy ?? false,
    phase: status?.phase ?? 'stopped',
    runtime,
    home,
    config_hash: status?.configHash ?? null,
    file_hash: wanted.hash ?? null,
    problem: status?.problem ?? null,
    warnings: wanted.warnings,
    parts: (status?.parts ?? []).map((part) => rowOf(part)),
  };
  if (args.flags.has('json')) console.log(JSON.stringify(report, null, 2));
  else printReport(report);
  return report.healthy ? 0 : 4;
}

async function statusOfContainers(context: Context): Promise<ApplianceStatus | undefined> {
  return composeStatus((await composeRuntime(context)).project);
}

function rowOf({ name, state, pid, startedAt, restarts, health, problem }: PartStatus): Row {
  return {
    name,
    state,
    pid: pid ?? null,
    version: health?.version ?? null,
    uptime_seconds: startedAt === undefined ? null : Math.floor((Date.now() - Date.parse(startedAt)) / 1_000),
    restarts,
    config_hash: health?.configHash ?? null,
    degraded: health?.degraded ?? [],
    lag: health?.lag ?? {},
    problem: problem ?? null,
  };
}

interface Report {
  readonly running: boolean;
  readonly healthy: boolean;
  readonly phase: string;
  readonly runtime: string;
  readonly home: string;
  readonly config_hash: string | null;
  readonly file_hash: string | null;
  readonly problem: string | null;
  readonly warnings: readonly string[];
  readonly parts: readonly Row[];
}

function printReport(report: Report): void {
  const { running, healthy, phase, runtime, home, config_hash: now, file_hash: wanted, parts } = report;
  console.log(
    running ? `${healthy ? 'healthy' : 'NOT healthy'} (${phase}, ${runtime} runtime), home ${home}` : `it does not run, home ${home}`,
  );
  if (parts.length > 0) {
    printRow('part', 'state', 'pid', 'version', 'uptime', 'restarts');
    for (const { name, state, pid, version, uptime_seconds: uptime, restarts } of parts) {
      printRow(name, state, String(pid ?? '-'), version ?? '-', uptime === null ? '-' : uptimeText(uptime), String(restarts));
    }
  }
  for (const { name, lag } of parts) if (Object.keys(lag).length > 0) console.log(`${name}: ${lagText(lag)}`);
  for (const { name, degraded, problem } of parts) {
    if (degraded.length > 0) console.log(`${name} is degraded: ${degraded.join(', ')} away`);
    if (problem !== null) console.log(`${name}: ${problem}`);
  }
  if (report.problem !== null) console.log(report.problem);
  if (running && wanted !== null && now !== wanted) {
    console.log(`it runs configuration ${now ?? '-'}, the file says ${wanted}: scripts/appliance up applies it`);
  } else if (running) console.log(`configuration ${now ?? '-'}`);
  for (const { name, config_hash: hash } of parts) {
    if (hash !== null && hash !== now) console.log(`${name} runs configuration ${hash}`);
  }
  for (const warning of report.warnings) console.log(`warning: ${warning}`);
}

/** `outbox waiting 0, outbox oldest seconds 0, ...` */
function lagText(lag: Readonly<Record<string, number>>): string {
  return Object.entries(lag)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${String(value)}`)
    .join(', ');
}

const WIDTHS = [17, 10, 8, 14, 10, 8];

function printRow(...cells: readonly string[]): void {
  console.log(
    cells
      .map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0))
      .join(' ')
      .trimEnd(),
  );
}

function uptimeText(seconds: number): string {
  const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60];
  if (days > 0) return `${days}d ${hours}h`;
  if (hours > 0) return `${hours}h ${minutes}m`;
  return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`;
}
