import assert from 'node:assert/strict';
import { pendingSteps } from './journal.ts';
import type { MigrationFile } from './migration-files.ts';

const file = (name: string, ...statements: readonly string[]): MigrationFile => ({
  name,
  steps: statements.map((statement, index) => ({ number: index + 1, statement, checksum: statement })),
});
const applied = (
  name: string,
  steps: number,
  ...checksums: readonly string[]
): readonly [string, { file: string; step: number; steps: number; checksum: string }[]] => [
  name,
  checksums.map((checksum, index) => ({ file: name, step: index + 1, steps, checksum })),
];
const pending = (files: readonly MigrationFile[], ...journal: readonly ReturnType<typeof applied>[]): readonly string[] =>
  pendingSteps(files, new Map(journal), 'im_x').map(({ step }) => step.statement);

describe('the journal of migrations', () => {
  it('goes on after the last statement that was applied', () => {
    assert.deepEqual(pending([file('0001_a.sql', 'A', 'B', 'C'), file('0002_b.sql', 'D')], applied('0001_a.sql', 3, 'A', 'B')), ['C', 'D']);
    assert.deepEqual(pending([file('0001_a.sql', 'A')], applied('0001_a.sql', 1, 'A')), []);
  });

  it('refuses a file that was changed after it was applied', () => {
    assert.throws(() => pending([file('0001_a.sql', 'A2')], applied('0001_a.sql', 1, 'A')), /step 1 was changed/);
    assert.throws(() => pending([file('0001_a.sql', 'A', 'B')], applied('0001_a.sql', 1, 'A')), /statements were added/);
    assert.throws(() => pending([file('0001_a.sql', 'A')], applied('0001_a.sql', 2, 'A', 'B')), /step 2 was changed/);
  });

  it('lets the rest of a half applied file be corrected', () => {
    assert.deepEqual(pending([file('0001_a.sql', 'A', 'B2', 'C2')], applied('0001_a.sql', 2, 'A')), ['B2', 'C2']);
  });

  it('refuses a database of a newer version, and a file that comes too late', () => {
    assert.throws(() => pending([file('0001_a.sql', 'A')], applied('0002_b.sql', 1, 'B')), /newer version/);
    assert.throws(() => pending([file('0001_a.sql', 'A'), file('0002_b.sql', 'B')], applied('0002_b.sql', 1, 'B')), /higher number/);
  });
});
