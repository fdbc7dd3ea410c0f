/** An appliance that runs already and that the end-to-end tests are to use instead of starting one. */
export interface E2eTarget {
  /** `HOST:PORT` of its public port. */
  readonly connect: string;
  /** Its own directory, for the authority and the first administrator's password. */
  readonly home: string;
  /** Its settings file, for its names. */
  readonly file: string;
  /** Whether it was started for these tests: then they may kill a part of it. Default false. */
  readonly isOwn?: boolean;
  /** Two addresses of this machine that clients may connect from. Default 127.0.0.7 and 127.0.0.8. */
  readonly clients?: readonly [string, string];
}

/** Settings of an appliance that is started for tests, which send more than people do. */
export function e2eSettings(port: number): string {
  return `port: ${port}\nrate_limit: {message_per_second: 10000, auth_per_second: 1000, sync_messages_per_minute: 10000}\nlog: {level: debug}\n`;
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
