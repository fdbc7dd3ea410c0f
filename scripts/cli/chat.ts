import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { RefusedError } from '#client/answer.ts';
import { Appliance } from '#client/appliance.ts';
import type { Credentials, Device, Login } from '#client/client-api.ts';
import { CLOSED_BY_US, ImClient } from '#client/im-client.ts';
import { ADDRESS_OPTIONS, applianceAddress } from './appliance-address.ts';
import { ChatSession } from './chat-session.ts';
import { CommandError } from './command.ts';
import type { Arguments, Command, ExitCode } from './command.ts';

/** A terminal client: lines in, lines out, so that it works in a pipe as well. */
export const command: Command = {
  summary: 'a small terminal client',
  usage: '--user NAME [--password-file FILE] [--connect HOST:PORT] [--ca FILE]',
  options: {
    ...ADDRESS_OPTIONS,
    user: { kind: 'value', short: 'u', placeholder: 'NAME', summary: 'who you are; made on first use where registration is open' },
    'password-file': { kind: 'value', placeholder: 'FILE', summary: 'file whose first line is the password (default: you are asked)' },
  },
  async run(context, args) {
    const found = await applianceAddress(context, args);
    const user = await credentials(args);
    const appliance = new Appliance(found);
    try {
      return await chat(appliance, user);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(1, `chat: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      appliance.close();
    }
  },
};

/** A token is asked anew when the last one may be near its end. */
const TOKEN_AGE_MS = 5 * 60_000;

async function chat(appliance: Appliance, user: Credentials): Promise<ExitCode> {
  const device = deviceOf(user.name);
  const first = await enter(appliance, user, device);
  const token = freshToken(appliance, user, device, first);
  const client = new ImClient({
    target: appliance.im,
    ...device,
    token,
    onConnected: () => void session.catchUp(),
    onEnded: (reason) => {
      if (reason !== CLOSED_BY_US) console.log(`* the session has ended: ${reason}`);
    },
  });
  const session = new ChatSession({ api: appliance.api, client, userId: first.userId, token, print: (line) => console.log(line) });
  await client.connect();
  console.log(`You are ${user.name} (${first.userId}). /help shows what there is.`);
  const following = session.follow();
  for await (const line of createInterface({ input: process.stdin, terminal: false })) {
    if (!(await session.line(line))) break;
  }
  await client.close();
  await following;
  return 0;
}

/** Registers first: a login under a name that nobody has would count as a guess. */
async function enter({ api }: Appliance, user: Credentials, device: Device): Promise<Login> {
  try {
    await api.register(user);
    console.log(`${user.name} is new here.`);
  } catch (error) {
    if (!(error instanceof RefusedError) || !KNOWN_ALREADY.has(error.reason)) throw error;
  }
  try {
    return await api.login(user, device);
  } catch (error) {
    if (error instanceof RefusedError && error.reason === 'UNAUTHORIZED')
      throw new CommandError(1, `chat: wrong password for ${user.name}`);
    throw error;
  }
}

const KNOWN_ALREADY: ReadonlySet<string> = new Set(['NAME_TAKEN', 'REGISTRATION_CLOSED']);

function freshToken({ api }: Appliance, user: Credentials, device: Device, first: Login): () => Promise<string> {
  let { accessToken } = first;
  let atMs = performance.now();
  return async () => {
    if (performance.now() - atMs > TOKEN_AGE_MS) {
      ({ accessToken } = await api.login(user, device));
      atMs = performance.now();
    }
    return accessToken;
  };
}

/** The same device for the same person on the same machine, without a file. */
function deviceOf(name: string): Device {
  const digest = createHash('sha256').update(`${hostname()} ${name}`).digest();
  return { deviceId: (digest.readBigUInt64BE() >> 1n || 1n).toString(), platform: 'cli' };
}

async function credentials({ values }: Arguments): Promise<Credentials> {
  const name = values.get('user');
  if (name === undefined || name === '') throw new CommandError(2, 'chat: who are you? --user NAME');
  const file = values.get('password-file');
  const password = file === undefined ? await askPassword(name) : await firstLineOf(file);
  if (password === '') throw new CommandError(2, 'chat: the password is empty');
  return { name, password };
}

async function firstLineOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).split(/\r?\n/, 1)[0] ?? '';
  } catch {
    throw new CommandError(2, `--password-file: ${file} cannot be read`);
  }
}

/** Asks without showing what is typed. */
async function askPassword(name: string): Promise<string> {
  if (!process.stdin.isTTY) throw new CommandError(2, 'chat: no terminal to ask for the password; use --password-file FILE');
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: hidden, terminal: true });
  // Only now: from here on the terminal does not echo.
  process.stdout.write(`Password of ${name}: `);
  const { promise, resolve } = Promise.withResolvers<string>();
  terminal.question('', resolve);
  terminal.once('close', () => resolve(''));
  const password = await promise;
  terminal.close();
  process.stdout.write('\n');
  return password;
}
