/** The servers that all tests of a run share. The test runner starts them; a test keeps to its own database, keys and topics. */
export interface TestServers {
  /** `root` has no password and every right. */
  readonly mysql: { readonly socketPath: string; readonly address: string; readonly user: string; readonly password: string };
  readonly redis: { readonly path: string; readonly address: string };
  readonly kafka: { readonly brokers: readonly string[] };
}

// The one value of the process that tests and their runner must share; a test file has no other way to be handed something.
let current: TestServers | undefined;

export function setTestServers(servers: TestServers | undefined): void {
  current = servers;
}

/** @throws when the tests were not started by `scripts/appliance test` */
export function testServers(): TestServers {
  if (current === undefined) throw new Error('no servers for tests: run them with `scripts/appliance test int -- FILE`');
  return current;
}
