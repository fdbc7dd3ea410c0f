/**
 * The Docker engine: whether one answers and, where a test needs one and the machine is ours, an engine of our own for as long as the
 * test runs.
 */
import { spawn } from 'node:child_process';
import { access, chmod, mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { installPrograms, isInstalled } from '../servers/apt.ts';
import type { BuildDeps } from '../servers/build-once.ts';
import { run } from '../servers/command.ts';
import { readText } from '../servers/home.ts';

const START_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 60_000;
/** Debian's way to say that an installation starts no service. */
const POLICY = '/usr/sbin/policy-rc.d';

/** Version of the engine that answers. @returns undefined when there is none */
export async function engineVersion(): Promise<string | undefined> {
  if (!(await isInstalled('docker'))) return undefined;
  const version = await run('docker', ['version', '--format', '{{.Server.Version}}']).catch(() => '');
  return version === '' ? undefined : version.trim();
}

export interface Engine {
  readonly version: string;
  /** Ends the engine if it is ours; one that was there before goes on. */
  stop(): Promise<void>;
}

/** The engine that answers, or one that is installed where missing and started here. */
export async function ensureEngine(deps: BuildDeps): Promise<Engine> {
  const present = await engineVersion();
  if (present !== undefined) return { version: present, stop: () => Promise.resolve() };
  await installQuietly(deps);
  return startEngine(deps);
}

/** An installation that starts the engine by itself would leave it running after us. */
async function installQuietly({ cache, progress }: BuildDeps): Promise<void> {
  const isOurs = await access(POLICY).then(
    () => false,
    () => true,
  );
  if (isOurs) {
    await writeFile(POLICY, '#!/bin/sh\nexit 101\n');
    await chmod(POLICY, 0o755);
  }
  try {
    await installPrograms(cache, { dockerd: ['docker.io'], docker: ['docker.io'] }, progress);
  } finally {
    if (isOurs) await rm(POLICY, { force: true });
  }
}

async function startEngine({ cache, progress }: BuildDeps): Promise<Engine> {
  const place = join(cache, 'docker');
  await mkdir(place, { recursive: true });
  const pidFile = join(place, 'dockerd.pid');
  await rm(pidFile, { force: true }); // Nobody answers, so whoever wrote it is gone, and the engine refuses to start where one is.
  const log = await open(join(place, 'dockerd.log'), 'w');
  const child = spawn('dockerd', ['--pidfile', pidFile], { detached: true, stdio: ['ignore', log.fd, log.fd] });
  child.unref();
  await log.close();
  progress('starting the Docker engine');
  const deadline = performance.now() + START_DEADLINE_MS;
  for (let version = await engineVersion(); ; version = await engineVersion()) {
    if (version !== undefined) return { version, stop: () => stopEngine(child.pid ?? 0, pidFile) };
    if (child.exitCode !== null || performance.now() > deadline) {
      const lines = (await readText(join(place, 'dockerd.log'))) ?? '';
      throw new Error(`the Docker engine did not start:\n${lines.split('\n').slice(-10).join('\n')}`);
    }
    await pause(200);
  }
}

async function stopEngine(pid: number, pidFile: string): Promise<void> {
  if (pid === 0 || !isAlive(pid)) return;
  process.kill(pid, 'SIGTERM');
  const deadline = performance.now() + STOP_DEADLINE_MS;
  while (isAlive(pid)) {
    if (performance.now() > deadline) process.kill(pid, 'SIGKILL');
    await pause(100);
  }
  await rm(pidFile, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
