/** The stages that run tests: mocha in this process, with the servers that the kind needs. */
import { glob } from 'node:fs/promises';
import { join, relative } from 'node:path';
import Mocha from 'mocha';
import { startTestServers, stopAllServers } from '#shared/testing/own-servers.ts';
import { setTestServers } from '#shared/testing/servers.ts';
import { countHandles, describeLeaks } from './test-leaks.ts';
import { addFailure, noResult } from './test-result.ts';
import type { StageResult } from './test-result.ts';

export const KINDS = ['unit', 'int', 'e2e', 'compose'] as const;
export type Kind = (typeof KINDS)[number];

export interface Selection {
  /** Absolute; empty means all. */
  readonly files: readonly string[];
  readonly grep: string | undefined;
}

interface KindSpec {
  readonly patterns: readonly string[];
  readonly isOf: (file: string) => boolean;
  readonly timeoutMs: number;
  /** What must run beside the tests. */
  readonly start: () => Promise<void>;
}

const TEST_FILES = ['services/**/*.test.ts', 'scripts/**/*.test.ts'];
const nothing = (): Promise<void> => Promise.resolve();

const SPECS: Readonly<Record<Kind, KindSpec>> = {
  unit: { patterns: TEST_FILES, isOf: (file) => !file.endsWith('.int.test.ts'), timeoutMs: 5_000, start: nothing },
  int: { patterns: TEST_FILES, isOf: (file) => file.endsWith('.int.test.ts'), timeoutMs: 60_000, start: startServers },
  e2e: { patterns: ['e2e/**/*.e2e.ts'], isOf: () => true, timeoutMs: 120_000, start: nothing },
  compose: { patterns: ['e2e/**/*.e2e.ts', 'e2e/compose/*.compose.ts'], isOf: () => true, timeoutMs: 120_000, start: nothing },
};

export async function runKind(root: string, kind: Kind, selection: Selection): Promise<StageResult> {
  const files = await filesOf(root, kind, selection);
  if (files.length === 0) return noResult();
  const stop = stopOnSignal();
  try {
    await SPECS[kind].start();
    return await runMocha(root, kind, files, selection.grep);
  } catch (error) {
    console.error(error);
    return addFailure(noResult(), `${kind}: ${String(error)}`);
  } finally {
    stop();
    setTestServers(undefined);
    await stopAllServers();
  }
}

async function startServers(): Promise<void> {
  setTestServers(await startTestServers());
}

async function filesOf(root: string, kind: Kind, selection: Selection): Promise<readonly string[]> {
  const { patterns, isOf } = SPECS[kind];
  const found: string[] = [];
  for await (const file of glob([...patterns], { cwd: root })) found.push(file);
  const files = found
    .filter(isOf)
    .map((file) => join(root, file))
    .sort();
  return selection.files.length === 0
    ? files
    : files.filter((file) => selection.files.some((one) => file === one || file.startsWith(`${one}/`)));
}

async function runMocha(root: string, kind: Kind, files: readonly string[], grep: string | undefined): Promise<StageResult> {
  const mocha = new Mocha({
    timeout: SPECS[kind].timeoutMs,
    reporter: 'spec',
    ...(grep === undefined ? {} : { fgrep: grep }),
    forbidOnly: true,
  });
  for (const file of files) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const before = countHandles();
  const rejections = watchRejections();
  const failures: string[] = [];
  const stats = await new Promise<Mocha.Stats | undefined>((done) => {
    const runner = mocha.run(() => done(runner.stats));
    runner.on('fail', (test: Mocha.Runnable) => failures.push(`${kind}: ${test.fullTitle()} (${relative(root, test.file ?? '')})`));
  });
  const result = { passed: stats?.passes ?? 0, failed: failures.length, skipped: stats?.pending ?? 0, failures };
  const unhandled = rejections.stop().map((reason) => `${kind}: unhandled rejection: ${reason}`);
  const leaks = (await describeLeaks(before)).map((leak) => `${kind}: left open after the tests: ${leak}`);
  return [...unhandled, ...leaks].reduce(addFailure, result);
}

/** mocha swallows a rejection that nobody handles; here it fails the run. */
function watchRejections(): { stop(): readonly string[] } {
  const seen = new Set<unknown>(); // mocha emits each a second time
  const listener = (reason: unknown): void => {
    if (!seen.has(reason)) console.error('unhandled rejection', reason);
    seen.add(reason);
  };
  process.on('unhandledRejection', listener);
  return {
    stop: () => {
      process.off('unhandledRejection', listener);
      return [...seen].map(String);
    },
  };
}

/** An interrupted run leaves no server behind. @returns what takes the listeners off again */
function stopOnSignal(): () => void {
  const listener = (signal: NodeJS.Signals): void => {
    console.error(`\nstopped by ${signal}`);
    void stopAllServers().finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, listener);
  return () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, listener);
  };
}
