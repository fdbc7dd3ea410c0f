import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Appliance } from '#client/appliance.ts';
import { ensureSecret, readIfThere } from '../configure/state.ts';
import { ADDRESS_OPTIONS, applianceAddress } from './appliance-address.ts';
import { CommandError } from './command.ts';
import type { Command, Context, ExitCode } from './command.ts';
import { smokeSteps } from './smoke-steps.ts';
import type { SmokeResult } from './smoke-steps.ts';

interface StepTime {
  readonly name: string;
  readonly ms: number;
}

/** Goes the whole road once, through the public port only. Exit 0, or 1 with the step that failed and why. */
export const command: Command = {
  summary: 'send, read and mute once, from outside, and say how long each step took',
  usage: '[--connect HOST:PORT] [--ca FILE] [--json]',
  options: {
    ...ADDRESS_OPTIONS,
    json: { kind: 'flag', summary: 'print {ok, trace_id, command_id, msg_id, steps: [{name, ms}], failed_step, reason}' },
  },
  async run(context, args) {
    const found = await applianceAddress(context, args);
    const steps: StepTime[] = [];
    const report = args.flags.has('json') ? jsonReport(steps) : textReport(found.connect);
    let current = 'passwords are read';
    const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      current = name;
      const startMs = performance.now();
      const outcome = await work();
      const taken = { name, ms: Math.round((performance.now() - startMs) * 10) / 10 };
      steps.push(taken);
      report.step(taken);
      return outcome;
    };
    const appliance = new Appliance(found);
    try {
      const state = join(context.home, 'state');
      const isFirstRun = (await readIfThere(join(state, 'smoke'))) === undefined;
      const password = await ensureSecret(state, 'smoke');
      const admin = { name: found.settings.admin.first_admin.name, password: await adminPassword(context) };
      report.ok(await smokeSteps({ appliance, password, isFirstRun, admin, step }));
      return 0;
    } catch (error) {
      return report.failed(current, reasonOf(error));
    } finally {
      appliance.close();
    }
  },
};

interface Report {
  step(taken: StepTime): void;
  ok(result: SmokeResult): void;
  failed(step: string, reason: string): ExitCode;
}

function textReport(connect: string): Report {
  console.log(`smoke test of ${connect}`);
  return {
    step: ({ name, ms }) => console.log(`  ${ms.toFixed(1).padStart(8)} ms  ${name}`),
    ok: ({ traceId }) => console.log(`smoke: ok (trace ${traceId})`),
    failed: (step, reason) => {
      console.error(`smoke: failed at "${step}": ${reason}`);
      return 1;
    },
  };
}

function jsonReport(steps: readonly StepTime[]): Report {
  return {
    step: () => undefined,
    ok: ({ traceId, commandId, msgId }) =>
      console.log(JSON.stringify({ ok: true, trace_id: traceId, command_id: commandId, msg_id: msgId, steps })),
    failed: (step, reason) => {
      console.log(JSON.stringify({ ok: false, steps, failed_step: step, reason }));
      console.error(`smoke: failed at "${step}": ${reason}`);
      return 1;
    },
  };
}

async function adminPassword({ home }: Context): Promise<string> {
  const file = join(home, 'state', 'admin', 'first_password');
  try {
    return (await readFile(file, 'utf8')).trimEnd();
  } catch {
    throw new CommandError(1, `${file} cannot be read: the password of the first administrator is needed`);
  }
}

/** With what lies beneath: "connection refused" says more than "the request failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error && !error.message.includes(error.cause.message) ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`;
}
