import { resolve } from 'node:path';
import { setE2eTarget } from '#shared/testing/e2e-target.ts';
import type { Arguments, Command, Context, ExitCode } from './command.ts';
import { CommandError } from './command.ts';
import { didYouMean } from '#scripts/configure/did-you-mean.ts';
import { CHECKS, runCheck } from './test-checks.ts';
import { runCompose } from './test-compose.ts';
import { addFailure, noResult, plus } from './test-result.ts';
import type { StageResult } from './test-result.ts';
import { KINDS, runKind } from './test-kinds.ts';
import type { Selection } from './test-kinds.ts';

const STAGES = [...CHECKS, ...KINDS] as const;
type Stage = (typeof STAGES)[number];
/** What runs when nothing is said: containers take an engine, images and minutes, and are asked for by name. */
const USUAL: readonly Stage[] = STAGES.filter((stage) => stage !== 'compose');
const USUAL_KINDS = KINDS.filter((kind) => kind !== 'compose');

export const command: Command = {
  summary: 'run lint, types, room rules and the tests; the last line says how many passed',
  usage: `[${STAGES.join('|')}]... [-- FILE... | --grep TEXT]`,
  options: {
    grep: { kind: 'value', placeholder: 'TEXT', summary: 'only tests whose title contains this' },
    connect: {
      kind: 'value',
      placeholder: 'HOST:PORT',
      summary: 'e2e, compose: use the appliance there, of --home and --file, and start none',
    },
    own: { kind: 'flag', summary: 'with --connect: tests may kill parts of that appliance' },
    from: { kind: 'value', placeholder: 'IP,IP', summary: 'with --connect: two addresses of this machine to connect from' },
  },
  maxPositionals: STAGES.length,
  run: runTests,
};

async function runTests({ root, home, file }: Context, args: Arguments): Promise<ExitCode> {
  process.chdir(root);
  const connect = args.values.get('connect');
  setE2eTarget(connect === undefined ? undefined : { connect, home, file, isOwn: args.flags.has('own'), ...clientsOf(args) });
  const selection = selectionOf(args);
  const stages = stagesOf(args.positionals, selection);
  let total = noResult();
  const checks = CHECKS.filter((check) => stages.includes(check));
  const timed = checks.map((check) => timeStage(check, () => runCheck(root, check)));
  for (const result of timed) total = plus(total, await result);
  let hasRun = 0;
  for (const kind of KINDS.filter((name) => stages.includes(name))) {
    const isOwnStage = kind === 'compose' && connect === undefined;
    const result = await timeStage(kind, () => (isOwnStage ? runCompose(root, selection) : runKind(root, kind, selection)));
    hasRun += result.passed + result.failed;
    total = plus(total, result);
  }
  if (hasRun === 0 && stages.some((stage) => isKind(stage))) total = addFailure(total, 'no test was selected');
  for (const failure of total.failures) console.log(`FAILED ${failure}`);
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  return total.failed === 0 ? 0 : 1;
}

function selectionOf({ rest, values }: Arguments): Selection {
  const words = [...rest];
  const at = words.indexOf('--grep');
  const [, inRest] = at === -1 ? [] : words.splice(at, 2);
  return { files: words.map((file) => resolve(file)), grep: values.get('grep') ?? inRest };
}

function stagesOf(positionals: readonly string[], { files, grep }: Selection): readonly Stage[] {
  const chosen = positionals.map((word) => {
    const stage = STAGES.find((name) => name === word);
    if (stage !== undefined) return stage;
    const meant = didYouMean(word, STAGES);
    throw new CommandError(2, `test: unknown stage "${word}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`);
  });
  if (chosen.length > 0) return chosen;
  return files.length > 0 || grep !== undefined ? USUAL_KINDS : USUAL;
}

function clientsOf({ values }: Arguments): { readonly clients?: readonly [string, string] } {
  const [first, second] = values.get('from')?.split(',') ?? [];
  return first === undefined || second === undefined ? {} : { clients: [first, second] };
}

function isKind(stage: Stage): boolean {
  return KINDS.some((kind) => kind === stage);
}

async function timeStage(name: Stage, run: () => Promise<StageResult>): Promise<StageResult> {
  const began = performance.now();
  const result = await run();
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${name.padEnd(7)} ${seconds.padStart(6)} s  ${result.passed} passed, ${result.failed} failed, ${result.skipped} skipped`);
  return result;
}
