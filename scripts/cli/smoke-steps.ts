import { setTimeout as pause } from 'node:timers/promises';
import { COMMANDS, MESSAGE_TYPES } from '#shared/contract/commands.ts';
import { externalId } from '#shared/contract/ids.ts';
import { RefusedError, textOf } from '#client/answer.ts';
import type { Appliance } from '#client/appliance.ts';
import type { Credentials, Login } from '#client/client-api.ts';
import { ImConnection } from '#client/im-connection.ts';
import type { Push } from '#client/pushes.ts';

export interface SmokeDeps {
  readonly appliance: Appliance;
  /** One password for both users, made once. */
  readonly password: string;
  /** The password was made just now, so nobody has it yet. */
  readonly isFirstRun: boolean;
  readonly admin: Credentials;
  /** Runs and times a step; its name is what a failure is reported under. */
  readonly step: <T>(name: string, work: () => Promise<T>) => Promise<T>;
}

export interface SmokeResult {
  /** The administrator's command: joins order, events, execution and push in every log. */
  readonly traceId: string;
  readonly commandId: string;
  readonly msgId: string;
}

/** A user's device, logged in and connected. */
interface Seat {
  readonly login: Login;
  readonly connection: ImConnection;
}

const TENANT = 'default';
/** The same devices each time, so that a smoke test each minute leaves no trail of devices. */
const DEVICES = { sender: '4100000001', reader: '4200000001', readerSecond: '4200000002' } as const;
const DEADLINE_MS = 10_000;

/**
 * The whole road once, from outside: users, friendship, a new group, a message with PUSH_ACK, a read mark on the reader's second device,
 * a mute by an administrator, its EVENT, and the refused send.
 *
 * @throws the first thing that goes wrong
 */
export async function smokeSteps(deps: SmokeDeps): Promise<SmokeResult> {
  const { step } = deps;
  const [sender, reader, second] = await step('users log in', () => logIn(deps));
  const seats = await step('devices connect', () => seatAll(deps, [sender, reader, second]));
  try {
    return await talkAndMute(deps, seats);
  } finally {
    for (const { connection } of seats) connection.cut();
  }
}

async function talkAndMute(deps: SmokeDeps, [sender, reader, second]: readonly [Seat, Seat, Seat]): Promise<SmokeResult> {
  const { step, appliance } = deps;
  await step('friendship', () => befriend(appliance, sender.login, reader.login));
  const group = await step('group is created', () =>
    appliance.api.createGroup(sender.login.accessToken, `smoke ${new Date().toISOString()}`, [reader.login.userId]),
  );
  const conversationId = group.conversationId;
  const msgId = await step('message is acknowledged', () => send(sender.connection, conversationId, 'smoke 🚬'));
  const push = await step('message arrives', () => messageOn(reader.connection, msgId));
  await step('push is acknowledged', () => acknowledge(reader.connection, push));
  await step('message arrives on the second device', () => messageOn(second.connection, msgId));
  await step('read mark arrives on the second device', () => readOnOne(reader, second, conversationId, msgId));
  const adminToken = await step('administrator logs in', () => appliance.admin.login(deps.admin));
  const order = await step('mute is accepted', () => mute(appliance, adminToken, group.topic, reader.login.userId));
  await step('mute is told to the member', () => muteEventOn(reader.connection, group.topic));
  await step('mute has succeeded', () => succeeded(appliance, adminToken, order.commandId));
  await step("the member's next message is refused", () => refusedAsMuted(reader.connection, conversationId));
  return { traceId: order.traceId, commandId: order.commandId, msgId };
}

async function logIn(deps: SmokeDeps): Promise<readonly [Login, Login, Login]> {
  const reader = { name: 'smoke-b', password: deps.password };
  return [
    await enter(deps, { name: 'smoke-a', password: deps.password }, DEVICES.sender),
    await enter(deps, reader, DEVICES.reader),
    await enter(deps, reader, DEVICES.readerSecond),
  ];
}

/** Logs in; a user that is not there yet is registered first. A login under a name that nobody has would count as a guess. */
async function enter({ appliance, isFirstRun }: SmokeDeps, user: Credentials, deviceId: string): Promise<Login> {
  const device = { deviceId, platform: 'smoke' };
  if (isFirstRun && deviceId !== DEVICES.readerSecond) await register(appliance, user);
  try {
    return await appliance.api.login(user, device);
  } catch (error) {
    if (!(error instanceof RefusedError) || error.reason !== 'UNAUTHORIZED') throw error;
  }
  await register(appliance, user); // an earlier run ended before it came to this
  return appliance.api.login(user, device);
}

async function register({ api }: Appliance, user: Credentials): Promise<void> {
  try {
    await api.register(user);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.reason === 'NAME_TAKEN')
      throw new Error(`${user.name} exists and has another password than this appliance's state/smoke`, { cause: error });
    if (error.reason === 'REGISTRATION_CLOSED') {
      throw new Error(`${user.name} does not exist and auth.registration is closed: open it for the first run of smoke`, { cause: error });
    }
    throw error;
  }
}

async function seatAll(deps: SmokeDeps, [a, b, c]: readonly [Login, Login, Login]): Promise<readonly [Seat, Seat, Seat]> {
  return [await seat(deps, a), await seat(deps, b), await seat(deps, c)];
}

async function seat({ appliance }: SmokeDeps, login: Login): Promise<Seat> {
  const connection = await ImConnection.open(appliance.im, { acknowledge: false });
  await connection.request(COMMANDS.AUTH, { token: login.accessToken, device_id: login.deviceId, platform: 'smoke' });
  return { login, connection };
}

/** Idempotent, as users are kept: who are friends already stay so. */
async function befriend({ api }: Appliance, a: Login, b: Login): Promise<void> {
  await api.requestFriend(a.accessToken, b.userId);
  await api.acceptFriend(b.accessToken, a.userId);
}

async function send(connection: ImConnection, conversationId: string, text: string): Promise<string> {
  const { command, data } = await connection.request(COMMANDS.SEND_MESSAGE, {
    conversation_id: conversationId,
    client_msg_id: crypto.randomUUID(),
    message_type: MESSAGE_TYPES.TEXT,
    content: { t: MESSAGE_TYPES.TEXT, text },
  });
  if (command !== COMMANDS.SEND_ACK) throw new Error(`the message was answered by command ${command}`);
  return textOf(data, 'msg_id');
}

function messageOn(connection: ImConnection, msgId: string): Promise<Push> {
  return connection.pushes.next(
    `MESSAGE ${msgId}`,
    ({ command, data }) => command === COMMANDS.MESSAGE && data['msg_id'] === msgId,
    DEADLINE_MS,
  );
}

/** PUSH_ACK has no answer; the heartbeat behind it says that it was taken. */
async function acknowledge(connection: ImConnection, push: Push): Promise<void> {
  connection.acknowledge(push);
  await connection.request(COMMANDS.HEARTBEAT, {});
}

async function readOnOne(reader: Seat, second: Seat, conversationId: string, msgId: string): Promise<void> {
  const isMark = ({ command, data }: Push): boolean =>
    command === COMMANDS.READ_MESSAGE && data['conversation_id'] === conversationId && data['msg_id'] === msgId;
  const seen = second.connection.pushes.next('the read mark', isMark, DEADLINE_MS);
  seen.catch(() => undefined);
  await reader.connection.request(COMMANDS.READ_MESSAGE, { conversation_id: conversationId, msg_id: msgId });
  await seen;
}

function mute({ admin }: Appliance, token: string, topic: string, userId: string): ReturnType<Appliance['admin']['order']> {
  const payload = { topic, user_id: externalId('usr', BigInt(userId)), reason: 'smoke', expires_at: null };
  return admin.order(token, { tenant: TENANT, eventType: 'group.member.mute', payload });
}

function muteEventOn(connection: ImConnection, topic: string): Promise<Push> {
  const isMute = ({ command, data }: Push): boolean =>
    command === COMMANDS.EVENT && data['event'] === 'group.mute.updated' && data['topic'] === topic;
  return connection.pushes.next('EVENT group.mute.updated', isMute, DEADLINE_MS);
}

async function succeeded({ admin }: Appliance, token: string, commandId: string): Promise<void> {
  const endMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const status = textOf(await admin.command(token, TENANT, commandId), 'status');
    if (status === 'succeeded') return;
    if (status !== 'pending' && status !== 'running') throw new Error(`the mute command has ended as ${status}`);
    if (performance.now() > endMs) throw new Error(`the mute command is still ${status} after ${DEADLINE_MS} ms`);
    await pause(50);
  }
}

async function refusedAsMuted(connection: ImConnection, conversationId: string): Promise<void> {
  try {
    await send(connection, conversationId, 'this must not arrive');
  } catch (error) {
    if (error instanceof RefusedError && error.reason === 'MEMBER_MUTED') return;
    throw error;
  }
  throw new Error('a muted member could send');
}
