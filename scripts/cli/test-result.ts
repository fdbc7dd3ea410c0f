/** What came out of a stage. `failures` are the lines that say which. */
export interface StageResult {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly string[];
}

export function noResult(): StageResult {
  return { passed: 0, failed: 0, skipped: 0, failures: [] };
}

export function plus(one: StageResult, other: StageResult): StageResult {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
    failures: [...one.failures, ...other.failures],
  };
}

export function addFailure(result: StageResult, failure: string): StageResult {
  return plus(result, { passed: 0, failed: 1, skipped: 0, failures: [failure] });
}
