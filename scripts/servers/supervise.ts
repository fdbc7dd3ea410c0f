/**
 * The detached process that keeps one appliance running: `node scripts/servers/supervise.ts HOME`.
 * One per HOME: a second one finds the lock taken, says so and ends with 0.
 */
import { rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CACHE } from './build-once.ts';
import { serveControl } from './control.ts';
import { homePaths, makeHome } from './home.ts';
import { tryLock } from './lock.ts';
import { appliancePlan } from './plan.ts';
import { RotatingLog } from './rotating-log.ts';
import { Supervisor } from './supervisor.ts';

/** The other parts write the time themselves. */
const WITHOUT_TIME: readonly string[] = ['supervisor', 'migrate'];

const CLONE = resolve(import.meta.dirname, '../..');

async function supervise(home: string): Promise<void> {
  const paths = homePaths(home);
  await makeHome(home);
  const lock = await tryLock(paths.lock);
  if (lock === undefined) {
    process.stdout.write(`a supervisor runs already for ${home}\n`);
    return;
  }
  const logs = new Map<string, RotatingLog>();
  const logOf = (part: string) => {
    const log = logs.get(part) ?? new RotatingLog(paths.log(part));
    logs.set(part, log);
    return (line: string): void => {
      log.write(WITHOUT_TIME.includes(part) ? `${new Date().toISOString()} ${line}` : line);
    };
  };
  const progress = logOf('supervisor');
  await writeFile(paths.pid, `${process.pid}\n`);
  const supervisor = new Supervisor({ plan: () => appliancePlan({ cache: CACHE, progress }, CLONE, home), logOf });
  const asked = Promise.withResolvers<string>();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => asked.resolve(signal));
  const control = await serveControl(paths.control, {
    status: () => supervisor.status(),
    stop: () => asked.resolve('down'),
    apply: () => supervisor.apply(),
  });
  progress(`supervisor ${process.pid} starts`);
  supervisor.start();
  progress(`stopping: ${await asked.promise}`);
  await supervisor.stop();
  control.closeAllConnections();
  control.close();
  await rm(paths.pid, { force: true });
  progress('stopped');
  for (const log of logs.values()) log.close();
  await lock.release();
}

const [home] = process.argv.slice(2);
if (home === undefined) {
  process.stderr.write('usage: supervise.ts HOME\n');
  process.exitCode = 2;
} else await supervise(resolve(home));
