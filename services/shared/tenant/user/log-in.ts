import { Refusal } from '#shared/contract/reasons.ts';
import type { Clock } from '#shared/platform/clock/clock.ts';
import type { LoginPause } from '#shared/platform/login/login-pause.ts';
import type { Passwords } from '#shared/platform/login/password.ts';
import type { SignedTokens } from '#shared/platform/login/signed-token.ts';
import type { Database, Tx } from '#shared/platform/mysql/database.ts';
import { assertAccount, issueAccessToken } from './authenticate.ts';
import type { AuthenticateDeps } from './authenticate.ts';
import {
  dropRefreshTokens,
  issueRefreshToken,
  lockRefreshToken,
  markRefreshTokenUsed,
  tenantOfRefreshToken,
} from './refresh-token-store.ts';
import type { RefreshToken } from './refresh-token-store.ts';
import { findAccount, findStanding, raiseDeviceVersion, touchDevice } from './user-store.ts';
import type { Account } from './user-store.ts';

export interface LoginDeps extends AuthenticateDeps {
  readonly tokens: SignedTokens;
  readonly passwords: Passwords;
  readonly pause: LoginPause;
  readonly clock: Clock;
  /** How long a refresh token lives (ms). */
  readonly refreshTtlMs: number;
}

export interface Login {
  readonly tenant: string;
  readonly name: string;
  readonly password: string;
  readonly deviceId: bigint;
  readonly platform: string;
  readonly realIp: string;
}

/** What a device holds after login and after each refresh. */
export interface Session {
  readonly userId: bigint;
  readonly accessToken: string;
  readonly accessExpiresAt: Date;
  readonly refreshToken: string;
}

/**
 * Lets a person in on one device; the device's earlier session ends with it. An unknown tenant, an unknown name and a wrong password look alike
 * and take the same work.
 *
 * @throws {Refusal} UNAUTHORIZED | ACCOUNT_SUSPENDED | TENANT_DISABLED | RATE_LIMITED (with retry_after_ms) | BUSY
 * @see G-14
 */
export async function logIn(deps: LoginDeps, login: Login): Promise<Session> {
  const db = deps.databases.get(login.tenant);
  const account = await tryPassword(deps, db, login);
  if (db === undefined || account === undefined) throw new Refusal('UNAUTHORIZED', 'name or password is wrong');
  deps.assertTenant(login.tenant);
  assertAccount(account);
  const { userId } = account;
  return db.transaction(async (tx) => {
    await touchDevice(tx, { userId, deviceId: login.deviceId, platform: login.platform });
    await dropRefreshTokens(tx, userId, login.deviceId);
    return openSession(deps, tx, { tenant: login.tenant, userId, deviceId: login.deviceId });
  });
}

/** The pause is looked at and the failure counted while the password is tried, so a burst of guesses gains nothing. */
async function tryPassword({ passwords, pause }: LoginDeps, db: Database | undefined, login: Login): Promise<Account | undefined> {
  const subjects = { name: `${login.tenant}/${login.name}`, realIp: login.realIp };
  return passwords.trying(async (matches) => {
    await pause.assertOpen(subjects);
    const account = db === undefined ? undefined : await findAccount(db, login.name.normalize('NFC'));
    if (await matches(login.password, account?.passwordHash)) {
      await pause.succeeded(subjects);
      return account;
    }
    await pause.failed(subjects);
    return undefined;
  });
}

async function openSession(
  { tokens, clock, refreshTtlMs }: LoginDeps,
  tx: Tx,
  { tenant, userId, deviceId }: { tenant: string; userId: bigint; deviceId: bigint },
): Promise<Session> {
  const standing = await findStanding(tx, userId, deviceId);
  if (standing === undefined) throw new Refusal('UNAUTHORIZED', 'this account does not exist');
  assertAccount(standing);
  const { authVersion, deviceVersion } = standing;
  const access = await issueAccessToken(tokens, { tenant, userId, deviceId, authVersion, deviceVersion });
  const expiresAt = new Date(clock.nowMs() + refreshTtlMs);
  const refreshToken = await issueRefreshToken(tx, tenant, { userId, deviceId, version: authVersion + deviceVersion, expiresAt });
  return { userId, accessToken: access.token, accessExpiresAt: access.expiresAt, refreshToken };
}

/**
 * Changes a refresh token for a new pair. A token works once: when it comes a second time, two hold it and one of them stole it,
 * so the device's session ends for both.
 *
 * @throws {Refusal} UNAUTHORIZED | ACCOUNT_SUSPENDED | TENANT_DISABLED
 */
export async function refreshSession(deps: LoginDeps, token: string): Promise<Session> {
  const tenant = tenantOfRefreshToken(token);
  const db = tenant === undefined ? undefined : deps.databases.get(tenant);
  if (tenant === undefined || db === undefined) throw ended();
  deps.assertTenant(tenant);
  // A theft must commit what ends the session, so the transaction reports it instead of throwing.
  const session = await db.transaction(async (tx) => {
    const held = await lockRefreshToken(tx, token);
    if (held?.isUsed === true) return endDeviceSession(tx, held.userId, held.deviceId);
    if (held === undefined || held.expiresAt <= deps.clock.now()) return undefined;
    await assertUnmoved(tx, held);
    await markRefreshTokenUsed(tx, token);
    return openSession(deps, tx, { tenant, userId: held.userId, deviceId: held.deviceId });
  });
  if (session === undefined) throw ended();
  return session;
}

async function assertUnmoved(tx: Tx, { userId, deviceId, version }: RefreshToken): Promise<void> {
  const standing = await findStanding(tx, userId, deviceId);
  if (standing === undefined) throw ended();
  assertAccount(standing);
  if (standing.authVersion + standing.deviceVersion !== version) throw ended();
}

/** Ends what one device may do: its refresh tokens go, its access tokens are refused at once. */
export async function endDeviceSession(tx: Tx, userId: bigint, deviceId: bigint): Promise<undefined> {
  await raiseDeviceVersion(tx, userId, deviceId);
  await dropRefreshTokens(tx, userId, deviceId);
  return undefined;
}

function ended(): Refusal {
  return new Refusal('UNAUTHORIZED', 'log in again');
}
