/**
 * What a file of scripts/cli exports as `command`: `scripts/appliance NAME ...` runs it.
 *
 * Exit codes, the same for every command: 0 ok; 1 it ran and found a fault, or could not finish (the last line of stderr says which);
 * 2 configuration or arguments refused, nothing touched; 3 preflight refused; 4 applied, or found, unhealthy; 10 a plan has changes.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4 | 10;

export interface OptionSpec {
  /** `flag` takes no value; the others take one, which stays a string. */
  readonly kind: 'flag' | 'value';
  /** One character, without the dash. */
  readonly short?: string;
  /** Shown by `--help` after the option, such as `DIR`. */
  readonly placeholder?: string;
  readonly summary: string;
}

/** What the command line said, already checked against the command's own list. */
export interface Arguments {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
  /** Everything after `--`. */
  readonly rest: readonly string[];
}

/** Options of every command: `--home DIR`, `--file FILE`. Paths are absolute. */
export interface Context {
  /** The clone: the folder that holds package.json. */
  readonly root: string;
  /** The appliance's own directory; `<clone>/.appliance` unless `--home` says otherwise. */
  readonly home: string;
  /** appliance.yml, or what `--file` names. */
  readonly file: string;
}

export interface Command {
  /** One line for `scripts/appliance --help`. */
  readonly summary: string;
  /** What follows the command's name, such as `[part] [-f]`. */
  readonly usage: string;
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** How many positionals it takes; more are refused. Default 0. */
  readonly maxPositionals?: number;
  run(context: Context, args: Arguments): Promise<ExitCode>;
}

/** A reason to stop that the user can act on: printed as one line on stderr, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
