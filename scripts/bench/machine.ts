import { statfs } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';

/** What the figures were measured on. */
export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryMib: number;
  readonly kernel: string;
  readonly node: string;
  /** A file system in memory makes every sync free, and figures of it say nothing about durable writes. */
  readonly isDataInMemory: boolean;
}

const IN_MEMORY: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]); // tmpfs, ramfs

export async function thisMachine(directory: string): Promise<Machine> {
  const [first] = cpus();
  const { type } = await statfs(directory);
  return {
    cores: cpus().length,
    cpu: first?.model.trim() ?? 'unknown',
    memoryMib: Math.round(totalmem() / 1_048_576),
    kernel: release(),
    node: process.versions.node,
    isDataInMemory: IN_MEMORY.has(type),
  };
}

/** Processes that wanted a core in the last minute, on average. */
export function load(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}
