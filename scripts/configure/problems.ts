export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong with the operator's file. */
export interface Problem extends Position {
  /** Such as `kafka.topics[2].name`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
}

/** The file is refused, nothing was touched. Carries every problem that was found, in the order of the file. */
export class ConfigProblems extends Error {
  override readonly name = 'ConfigProblems';
  readonly problems: readonly Problem[];
  readonly lines: readonly string[];

  constructor(fileName: string, problems: readonly Problem[]) {
    const sorted = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
    const lines = sorted.map(
      ({ line, column, path, message }) => `${fileName}:${line}:${column} ${path === '' ? '' : `${path}: `}${message}`,
    );
    super(lines.join('\n'));
    this.problems = sorted;
    this.lines = lines;
  }
}

/** The machine does not allow it: a path that is too long, a port that is published elsewhere. Exit code 3. */
export class PreflightError extends Error {
  override readonly name = 'PreflightError';
}
