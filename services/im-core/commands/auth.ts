import { COMMANDS } from '#shared/contract/commands.ts';
import { parseId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Connection } from '../gateway/connection.ts';
import type { Identity, Session, Sessions } from '../gateway/sessions.ts';
import type { CommandBody } from './command.ts';

/** `Verified` is an Identity and whatever else the second look compares. */
export interface AuthDeps<Verified extends Identity> {
  readonly clock: Clock;
  readonly log: Log;
  readonly sessions: Sessions;
  /** @throws {Refusal} UNAUTHORIZED | ACCOUNT_SUSPENDED */
  readonly verifyAccessToken: (token: string) => Promise<Verified>;
  /** The same question again, asked after the device is bound: a ban in between is seen by one of the two. @throws as above */
  readonly recheck: (identity: Verified) => Promise<void>;
  /** Says where the device is reached. False: a newer connection of it is bound already. */
  readonly bindDevice: (session: Session) => Promise<boolean>;
  readonly unbindDevice: (session: Session) => Promise<void>;
  /** Another value than last time tells the client to sync from 0. */
  readonly syncEpoch: (tenant: string) => Promise<string>;
  /** How often the client should send HEARTBEAT (ms). */
  readonly heartbeatMs: number;
}

/** `data` of the answer. */
export interface AuthAnswer {
  readonly user_id: string;
  readonly device_id: string;
  readonly tenant_code: string;
  readonly server_time: string;
  readonly heartbeat_ms: number;
  readonly sync_epoch: string;
}

export class Auth<Verified extends Identity> {
  readonly command = COMMANDS.AUTH;
  readonly #deps: AuthDeps<Verified>;

  constructor(deps: AuthDeps<Verified>) {
    this.#deps = deps;
  }

  /**
   * Gives the connection its identity, once (SES-12). The order matters: the session can be pushed to before presence names it,
   * so that nothing that is handed to it finds nobody; the token is judged again after presence is written, so that a ban either
   * sees this session or is seen by it.
   *
   * Wire  command 1, `{"token": "...", "device_id": "123", "platform": "cli"}`; device_id is the token's.
   *
   * @throws {Refusal} UNAUTHORIZED | ACCOUNT_SUSPENDED | INVALID_ARGUMENT | FORBIDDEN (a health check); the connection is to be closed then
   */
  async authenticate(connection: Connection, body: CommandBody): Promise<AuthAnswer> {
    if (connection.realIp === '') throw new Refusal('FORBIDDEN', 'a connection without a client address cannot log in');
    const { token, deviceId } = parseAuth(body);
    const identity = await this.#deps.verifyAccessToken(token);
    if (identity.deviceId !== deviceId) throw new Refusal('UNAUTHORIZED', 'the token belongs to another device');
    const syncEpoch = await this.#deps.syncEpoch(identity.tenant);
    const session = this.#bindHere(connection, identity);
    try {
      await this.#bindEverywhere(connection, session, identity);
    } catch (error) {
      await this.leave(session);
      throw error;
    }
    return this.#answer(identity, syncEpoch);
  }

  /** The connection of this session is gone, or is not to be: takes both marks back unless a newer connection holds them. */
  async leave(session: Session): Promise<void> {
    this.#deps.sessions.unbind(session);
    try {
      await this.#deps.unbindDevice(session);
    } catch (error) {
      // Presence lapses by itself when nobody refreshes it.
      this.#deps.log.warn({ connection_id: session.connectionId, error: asError(error) }, 'presence was not taken back');
    }
  }

  #bindHere(connection: Connection, { tenant, userId, deviceId }: Identity): Session {
    if (!connection.isOpen) throw gone();
    const session = connection.authenticated({ tenant, userId, deviceId });
    if (this.#deps.sessions.bind(session) === session) throw replaced();
    return session;
  }

  async #bindEverywhere(connection: Connection, session: Session, identity: Verified): Promise<void> {
    if (!(await this.#deps.bindDevice(session))) throw replaced();
    await this.#deps.recheck(identity);
    // Closed meanwhile: its onClose may have run before presence was written.
    if (!connection.isOpen) throw gone();
  }

  #answer({ userId, deviceId, tenant }: Identity, syncEpoch: string): AuthAnswer {
    return {
      user_id: userId.toString(),
      device_id: deviceId.toString(),
      tenant_code: tenant,
      server_time: this.#deps.clock.now().toISOString(),
      heartbeat_ms: this.#deps.heartbeatMs,
      sync_epoch: syncEpoch,
    };
  }
}

const MAX_TOKEN_LENGTH = 4096;

function parseAuth(body: CommandBody): { token: string; deviceId: bigint } {
  const { token } = body;
  if (typeof token !== 'string' || token === '' || token.length > MAX_TOKEN_LENGTH) {
    throw new Refusal('INVALID_ARGUMENT', 'token must be the access token', { field: 'token' });
  }
  return { token, deviceId: parseId(body['device_id'], 'device_id') };
}

function replaced(): Refusal {
  return new Refusal('UNAUTHORIZED', 'a newer connection of this device is logged in');
}

function gone(): Refusal {
  return new Refusal('UNAUTHORIZED', 'the connection ended during AUTH');
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
