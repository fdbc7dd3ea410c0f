import { parseId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { USER_STATES } from '#shared/contract/commands.ts';
import { findStanding } from './user-store.ts';
import type { Standing, TenantDatabases } from './user-store.ts';

/** Who a valid access token speaks for. */
export interface Identity {
  readonly tenant: string;
  readonly userId: bigint;
  readonly deviceId: bigint;
  readonly authVersion: bigint;
  readonly deviceVersion: bigint;
}

export interface AuthenticateDeps {
  readonly tokens: SignedTokens;
  readonly databases: TenantDatabases;
  /** @throws {Refusal} TENANT_DISABLED: the tenant exists and is closed */
  readonly assertTenant: (tenant: string) => void;
}

/** Claims beside `sub` (user id): tenant code, device id, the user's and the device's auth_version. */
const CLAIMS = ['ten', 'dev', 'av', 'dv'] as const;

export async function issueAccessToken(tokens: SignedTokens, identity: Identity): Promise<{ token: string; expiresAt: Date }> {
  return tokens.issue(identity.userId.toString(), {
    ten: identity.tenant,
    dev: identity.deviceId.toString(),
    av: identity.authVersion.toString(),
    dv: identity.deviceVersion.toString(),
  });
}

/**
 * Reads an access token and asks the tenant database whether its holder may still come in: a ban, a password reset, a logout everywhere or a
 * kick of the device raises a version, and the token is refused although its signature holds.
 *
 * @throws {Refusal} UNAUTHORIZED | ACCOUNT_SUSPENDED | TENANT_DISABLED
 * @see G-14 @see USR-03 @see USR-07
 */
export async function verifyAccessToken(deps: AuthenticateDeps, token: string): Promise<Identity> {
  const claims = await deps.tokens.read(token, CLAIMS);
  const identity: Identity = {
    tenant: claims.get('ten') ?? '',
    userId: parseId(claims.get('sub'), 'sub'),
    deviceId: parseId(claims.get('dev'), 'dev'),
    authVersion: parseId(claims.get('av'), 'av', 0n),
    deviceVersion: parseId(claims.get('dv'), 'dv', 0n),
  };
  await assertStanding(deps, identity);
  return identity;
}

/**
 * The second look, for whoever let a session in meanwhile: what was raised between the first look and now is seen.
 *
 * @throws {Refusal} UNAUTHORIZED | ACCOUNT_SUSPENDED | TENANT_DISABLED
 */
export async function assertStanding(
  { databases, assertTenant }: Pick<AuthenticateDeps, 'databases' | 'assertTenant'>,
  identity: Identity,
): Promise<void> {
  const db = databases.get(identity.tenant);
  const standing = db === undefined ? undefined : await findStanding(db, identity.userId, identity.deviceId);
  if (standing === undefined) throw new Refusal('UNAUTHORIZED', 'the token is not valid');
  assertAccount(standing);
  if (standing.authVersion !== identity.authVersion || standing.deviceVersion !== identity.deviceVersion) {
    throw new Refusal('UNAUTHORIZED', 'this session was ended');
  }
  assertTenant(identity.tenant);
}

/** @throws {Refusal} ACCOUNT_SUSPENDED | UNAUTHORIZED (deleted) */
export function assertAccount({ state }: Pick<Standing, 'state'>): void {
  if (state === USER_STATES.SUSPENDED) throw new Refusal('ACCOUNT_SUSPENDED', 'this account is suspended');
  if (state !== USER_STATES.OK) throw new Refusal('UNAUTHORIZED', 'this account does not exist');
}
