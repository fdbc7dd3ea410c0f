import { randomBytes } from 'node:crypto';
import { COMMANDS, MESSAGE_TYPES } from '#shared/contract/commands.ts';
import { textOf } from '#client/answer.ts';
import type { Credentials, Login } from '#client/client-api.ts';
import { ImConnection } from '#client/im-connection.ts';
import type { ConnectionOptions } from '#client/im-connection.ts';
import type { Push } from '#client/pushes.ts';
import { ApplianceUnderTest } from './own-appliance.ts';

// One appliance for the whole run: importing this file is what starts and stops it.
let current: ApplianceUnderTest | undefined;
// Also those of a test that failed half-way: nothing may stay connected when the run is over.
const everybody: Person[] = [];

before(async function start() {
  this.timeout(900_000);
  current = await ApplianceUnderTest.open();
});

after(async function stop() {
  this.timeout(180_000);
  for (const person of everybody) person.leave();
  await current?.close();
  current = undefined;
});

export function underTest(): ApplianceUnderTest {
  if (current === undefined) throw new Error('the appliance runs only while tests run');
  return current;
}

/** Somebody who exists for one test. */
export class Person {
  readonly credentials: Credentials;
  readonly #connections: ImConnection[] = [];
  /** By device id; a login costs a password hash. */
  readonly #logins = new Map<string, Login>();

  private constructor(credentials: Credentials) {
    this.credentials = credentials;
    everybody.push(this);
  }

  static async register(): Promise<Person> {
    const person = new Person({ name: `e2e-${randomBytes(6).toString('hex')}`, password: randomBytes(12).toString('hex') });
    await underTest().appliance.api.register(person.credentials);
    await person.logIn('1');
    return person;
  }

  get userId(): string {
    return this.#first.userId;
  }

  get token(): string {
    return this.#first.accessToken;
  }

  get #first(): Login {
    const login = this.#logins.get('1');
    if (login === undefined) throw new Error('not registered');
    return login;
  }

  async logIn(deviceId: string): Promise<Login> {
    const login = await underTest().appliance.api.login(this.credentials, { deviceId, platform: 'e2e' });
    this.#logins.set(deviceId, login);
    return login;
  }

  /** A connected device. */
  async device(deviceId = '1', options?: ConnectionOptions): Promise<ImConnection> {
    const { accessToken } = this.#logins.get(deviceId) ?? (await this.logIn(deviceId));
    const connection = await ImConnection.open(underTest().appliance.im, options);
    this.#connections.push(connection);
    await connection.request(COMMANDS.AUTH, { token: accessToken, device_id: deviceId, platform: 'e2e' });
    return connection;
  }

  leave(): void {
    for (const connection of this.#connections.splice(0)) connection.cut();
  }
}

/** Two friends and their conversation. */
export interface Pair {
  readonly alice: Person;
  readonly bob: Person;
  readonly conversationId: string;
  readonly leave: () => void;
}

export async function twoFriends(): Promise<Pair> {
  const { api } = underTest().appliance;
  const [alice, bob] = [await Person.register(), await Person.register()];
  await api.requestFriend(alice.token, bob.userId);
  await api.acceptFriend(bob.token, alice.userId);
  const conversationId = await api.openP2p(alice.token, bob.userId);
  const leave = (): void => {
    alice.leave();
    bob.leave();
  };
  return { alice, bob, conversationId, leave };
}

export interface Outgoing {
  readonly conversationId: string;
  readonly text: string;
  readonly clientMsgId?: string;
}

export function sendBody({ conversationId, text, clientMsgId = crypto.randomUUID() }: Outgoing): object {
  return {
    conversation_id: conversationId,
    client_msg_id: clientMsgId,
    message_type: MESSAGE_TYPES.TEXT,
    content: { t: MESSAGE_TYPES.TEXT, text },
  };
}

/** @returns the message's id, as SEND_ACK says it */
export async function send(connection: ImConnection, outgoing: Outgoing): Promise<string> {
  const { data } = await connection.request(COMMANDS.SEND_MESSAGE, sendBody(outgoing));
  return textOf(data, 'msg_id');
}

export function messageOn(connection: ImConnection, msgId: string): Promise<Push> {
  return connection.pushes.next(`MESSAGE ${msgId}`, ({ command, data }) => command === COMMANDS.MESSAGE && data['msg_id'] === msgId);
}

export function textIn(content: unknown): unknown {
  return typeof content === 'object' && content !== null && 'text' in content ? content.text : undefined;
}
