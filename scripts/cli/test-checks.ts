/** The stages that read the code instead of running it. Each counts as one test. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { noResult, addFailure } from './test-result.ts';
import type { StageResult } from './test-result.ts';

export const CHECKS = ['lint', 'types', 'rooms'] as const;
export type Check = (typeof CHECKS)[number];

const FOLDERS = ['services', 'scripts', 'e2e'];
/** A cruise that did not see this one saw nothing, whatever it reports: that is how a wrong compiler version shows. */
const KNOWN_FILE = 'services/shared/contract/reasons.ts';

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

export async function runCheck(root: string, check: Check): Promise<StageResult> {
  const complaint = await { lint, types, rooms }[check](root);
  if (complaint === '') return { ...noResult(), passed: 1 };
  console.log(complaint);
  return addFailure(noResult(), check);
}

async function lint(root: string): Promise<string> {
  const eslint = await runTool(root, 'eslint/bin/eslint.js', [...FOLDERS, '--no-error-on-unmatched-pattern', '--max-warnings=0']);
  const prettier = await runTool(root, 'prettier/bin/prettier.cjs', [
    '--check',
    '--no-error-on-unmatched-pattern',
    ...FOLDERS,
    'eslint.config.js',
    '.dependency-cruiser.cjs',
  ]);
  return [eslint, prettier].map(complaintOf).join('');
}

async function types(root: string): Promise<string> {
  return complaintOf(await runTool(root, 'typescript/bin/tsc', ['-p', '.', '--noEmit']));
}

async function rooms(root: string): Promise<string> {
  const folders = FOLDERS.filter((folder) => existsSync(join(root, folder)));
  const { output } = await runTool(root, 'dependency-cruiser/bin/dependency-cruise.mjs', [
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'json',
    ...folders,
  ]);
  const report = parseReport(output);
  if (report === undefined) return output;
  if (!report.modules.some(({ source }) => source === KNOWN_FILE))
    return `rooms: saw ${report.modules.length} modules, but not ${KNOWN_FILE}`;
  return report.summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} -> ${to}`).join('\n');
}

interface CruiseReport {
  readonly modules: readonly { readonly source: string }[];
  readonly summary: {
    readonly violations: readonly { readonly from: string; readonly to: string; readonly rule: { readonly name: string } }[];
  };
}

function parseReport(output: string): CruiseReport | undefined {
  try {
    return JSON.parse(output) as CruiseReport;
  } catch {
    return undefined;
  }
}

function complaintOf({ code, output }: Outcome): string {
  return code === 0 ? '' : output;
}

/** Runs a tool of node_modules under this very Node. */
async function runTool(root: string, file: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [join(root, 'node_modules', file), ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = new Promise<number | null>((done) => child.once('close', done));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await closed, output: stdout + stderr };
}
