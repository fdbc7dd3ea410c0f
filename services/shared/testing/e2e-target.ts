/** An appliance that runs already and that the end-to-end tests are to use instead of starting one. */
export interface E2eTarget {
  /** `HOST:PORT` of its public port. */
  readonly connect: string;
  /** Its own directory, for the authority and the first administrator's password. */
  readonly home: string;
  /** Its settings file, for its names. */
  readonly file: string;
}

// Like the servers of the other tests: a test file has no other way to be handed something by its runner.
let current: E2eTarget | undefined;

export function setE2eTarget(target: E2eTarget | undefined): void {
  current = target;
}

/** @returns undefined when the tests start an appliance of their own */
export function e2eTarget(): E2eTarget | undefined {
  return current;
}
