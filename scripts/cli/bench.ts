import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { BenchAppliance } from '#scripts/bench/bench-appliance.ts';
import { FULL, QUICK, runBench } from '#scripts/bench/bench.ts';
import { reportJson, reportText } from '#scripts/bench/report.ts';
import type { Arguments, Command, Context, ExitCode } from './command.ts';
import { CommandError } from './command.ts';

export const command: Command = {
  summary:
    'measure messages and mutes on an appliance of its own (about 12 minutes; --quick about 2), which is started with settings of its own (in --home, an empty directory, or a new one) and removed again; nothing else should run on the machine meanwhile',
  usage: '[--quick] [--json FILE] [--profile FILE] [--home DIR]',
  options: {
    quick: { kind: 'flag', summary: 'a few seconds a point: shows that it works, proves nothing' },
    json: { kind: 'value', placeholder: 'FILE', summary: 'write the figures there as well' },
    profile: { kind: 'value', placeholder: 'FILE', summary: 'a CPU profile of im-core at the most connections, and its longest functions' },
  },
  run: bench,
};

async function bench({ root }: Context, { flags, values }: Arguments): Promise<ExitCode> {
  if (values.has('file')) throw new CommandError(2, 'bench: it writes its own settings file, so --file has no meaning here');
  if (process.getuid?.() !== 0) throw new CommandError(3, 'bench: it starts an appliance, which only root may do');
  const given = values.get('home');
  const home = given === undefined ? await mkdtemp(join(tmpdir(), 'ima-bench-')) : resolve(given);
  const listeners = removeOnSignal();
  try {
    const result = await runBench({
      root,
      home,
      size: flags.has('quick') ? QUICK : FULL,
      profile: values.get('profile'),
      say,
      progress,
      onAppliance: listeners.watch,
    });
    const json = values.get('json');
    if (json !== undefined) await writeFile(json, reportJson(result));
    progress('');
    console.log(`\n${reportText(result)}`);
    return 0;
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    listeners.off();
  }
}

const began = performance.now();

function say(line: string): void {
  progress('');
  console.log(`${((performance.now() - began) / 1_000).toFixed(0).padStart(4)} s  ${line}`);
}

function progress(line: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line.slice(0, 100)}`);
}

/** An interrupted run leaves neither a process nor a file behind. */
function removeOnSignal(): { readonly watch: (appliance: BenchAppliance) => void; readonly off: () => void } {
  let running: BenchAppliance | undefined;
  const listener = (signal: NodeJS.Signals): void => {
    console.error(`\nstopped by ${signal}; the appliance is removed`);
    void Promise.resolve(running?.remove()).finally(() => process.exit(1));
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, listener);
  return {
    watch: (appliance) => (running = appliance),
    off: () => {
      for (const signal of signals) process.off(signal, listener);
    },
  };
}
