import { readdir, readFile } from 'node:fs/promises';

/** CPU seconds by name. */
export type CpuSeconds = Readonly<Record<string, number>>;

/** The unit of /proc's times, the same on every Linux. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time of process groups since they began (user and system), a part of the appliance being one group whatever children it has.
 *
 * @param groups process group by name
 */
export async function cpuSeconds(groups: ReadonlyMap<string, number>): Promise<CpuSeconds> {
  const byGroup = new Map<number, number>();
  for (const { group, ticks } of await processTimes()) byGroup.set(group, (byGroup.get(group) ?? 0) + ticks);
  return Object.fromEntries([...groups].map(([name, group]) => [name, (byGroup.get(group) ?? 0) / TICKS_PER_SECOND]));
}

export function cpuBetween(before: CpuSeconds, after: CpuSeconds): CpuSeconds {
  return Object.fromEntries(Object.entries(after).map(([name, seconds]) => [name, seconds - (before[name] ?? 0)]));
}

/** CPU seconds of the whole machine since it started, whoever took them. */
export async function machineCpuSeconds(): Promise<number> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n');
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = first.split(/ +/).slice(1).map(Number);
  return (user + nice + system + interrupts + softInterrupts + stolen) / TICKS_PER_SECOND;
}

async function processTimes(): Promise<readonly { group: number; ticks: number }[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(names.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => undefined)));
  return stats.flatMap((stat) => (stat === undefined ? [] : [parseStat(stat)]));
}

/** The command's name may contain anything, so fields count from behind its last parenthesis: state, ppid, pgrp, ..., utime, stime. */
function parseStat(stat: string): { group: number; ticks: number } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { group: Number(fields[2]), ticks: Number(fields[11]) + Number(fields[12]) };
}
