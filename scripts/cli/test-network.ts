/** A machine beside this one, for tests: a network namespace with addresses of its own, from which the appliance is seen as by a client. */
import { randomBytes } from 'node:crypto';
import { run } from '#scripts/servers/command.ts';

export interface ClientNetwork {
  readonly name: string;
  /** This machine as the clients see it. */
  readonly host: string;
  readonly clients: readonly [string, string];
  /** The words that run a command there. */
  readonly enter: readonly string[];
  remove(): Promise<void>;
}

/** A range that RFC 2544 keeps for tests of networks, and one of unique local addresses. */
const V4 = '198.18.77';
const V6 = 'fd77:1a00:77::';

export async function makeClientNetwork(): Promise<ClientNetwork> {
  const name = `ima-${randomBytes(3).toString('hex')}`;
  const [outside, inside] = [`${name}-o`, `${name}-i`];
  const ip = (...words: readonly string[]): Promise<string> => run('ip', words);
  const remove = async (): Promise<void> => {
    await ip('netns', 'delete', name).catch(() => undefined);
    await ip('link', 'delete', outside).catch(() => undefined); // It goes with the namespace, but not at once.
  };
  try {
    await ip('netns', 'add', name);
    await ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', inside, 'netns', name);
    await ip('address', 'add', `${V4}.1/24`, 'dev', outside);
    await ip('-6', 'address', 'add', `${V6}1/64`, 'dev', outside, 'nodad').catch(() => undefined); // Where the kernel has no IPv6.
    await ip('link', 'set', outside, 'up');
    for (const last of [7, 8]) await ip('-n', name, 'address', 'add', `${V4}.${last}/24`, 'dev', inside);
    await ip('-n', name, '-6', 'address', 'add', `${V6}7/64`, 'dev', inside, 'nodad').catch(() => undefined);
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    await ip('-n', name, 'link', 'set', inside, 'up');
    await ip('-n', name, 'route', 'add', 'default', 'via', `${V4}.1`);
    await ip('-n', name, '-6', 'route', 'add', 'default', 'via', `${V6}1`).catch(() => undefined);
  } catch (error) {
    await remove();
    throw error;
  }
  const enter = ['nsenter', `--net=/var/run/netns/${name}`, '--'];
  return { name, host: `${V4}.1`, clients: [`${V4}.7`, `${V4}.8`], enter, remove };
}
