import { schedule } from 'node-cron';
import type { ScheduledTask } from 'node-cron';
import { Lease } from '#shared/platform/events/lease.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';

/** A job that runs by the clock. */
export interface CronJob {
  readonly name: string;
  /** Cron pattern in UTC: minute, hour, day, month, weekday. */
  readonly at: string;
  /** One run; what it returns is logged. Must be safe to repeat. */
  readonly run: () => Promise<number>;
}

export interface CronDeps {
  readonly jobs: readonly CronJob[];
  /** im_control; a lease row keeps a job from running in two processes at once. */
  readonly control: Database;
  readonly owner: string;
  readonly log: Log;
}

/** Longer than any run; a process that died in a run holds the job back for so long. */
const LEASE_MS = 600_000;

/** Runs the table of jobs, each by one process at a time. Stopping waits for the run in hand. */
export class Cron implements Part {
  readonly name = 'cron';
  readonly #deps: CronDeps;
  #tasks: readonly ScheduledTask[] = [];
  readonly #running = new Set<Promise<void>>();

  constructor(deps: CronDeps) {
    this.#deps = deps;
  }

  start(): Promise<void> {
    this.#tasks = this.#deps.jobs.map((job) =>
      schedule(job.at, () => this.runNow(job), { name: job.name, timezone: 'UTC', noOverlap: true, suppressMissedWarning: true }),
    );
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    for (const task of this.#tasks) await task.destroy();
    await Promise.all(this.#running);
  }

  /** One run of a job unless another process is at it. Never rejects: a failed run is logged and comes again at its time. */
  async runNow(job: CronJob): Promise<void> {
    const run = this.#run(job).catch((error: unknown) => {
      this.#deps.log.error({ job: job.name, error: error instanceof Error ? error : new Error(String(error)) }, 'a job failed');
    });
    this.#running.add(run);
    await run.finally(() => this.#running.delete(run));
  }

  async #run({ name, run }: CronJob): Promise<void> {
    const { control, owner, log } = this.#deps;
    const lease = new Lease({ db: control, database: control.name }, { name: `cron:${name}`, owner, ttlMs: LEASE_MS });
    if (!(await lease.hold())) return;
    try {
      log.info({ job: name, count: await run() }, 'a job has run');
    } finally {
      await lease.release();
    }
  }
}
