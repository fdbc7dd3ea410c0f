import { ConfigProblems, PreflightError } from '#scripts/configure/problems.ts';
import { CommandError } from './command.ts';

/** What configure says, with the exit code of a command. */
export function refuse(error: unknown): never {
  if (error instanceof ConfigProblems) throw new CommandError(2, error.message);
  if (error instanceof PreflightError) throw new CommandError(3, error.message);
  throw error;
}
