import { Refusal } from '#shared/contract/reasons.ts';
import type { LoginPause } from '#shared/platform/login/login-pause.ts';
import type { Passwords } from '#shared/platform/login/password.ts';
import type { SignedTokens } from '#shared/platform/login/signed-token.ts';
import { isDuplicateKey } from '#shared/platform/mysql/database.ts';
import { ADMINISTRATOR_STATES } from './administrator-model.ts';
import type { AdministratorModel, AdministratorRow } from './administrator-model.ts';
import { permissionsOf } from './roles.ts';
import type { Permission } from './roles.ts';

export interface Administrator {
  /** Decimal. */
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly permissions: readonly Permission[];
}

export interface AdministratorDeps {
  readonly administrators: AdministratorModel;
  readonly tokens: SignedTokens;
  readonly passwords: Passwords;
  readonly pause: LoginPause;
}

/**
 * Creates the first administrator if there is none of this name. A password that was changed later stays.
 *
 * @returns whether one was created
 */
export async function seedFirstAdministrator(
  { administrators, passwords }: Pick<AdministratorDeps, 'administrators' | 'passwords'>,
  { name, password }: { name: string; password: string },
): Promise<boolean> {
  if ((await administrators.findOne({ where: { name } })) !== null) return false;
  const now = new Date();
  const row = {
    name,
    display_name: name,
    role: 'super_admin',
    password_hash: await passwords.hash(password),
    created_at: now,
    updated_at: now,
  };
  try {
    await administrators.create(row);
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false; // Another process was faster.
    throw error;
  }
}

export interface AdministratorLogin {
  readonly name: string;
  readonly password: string;
  readonly realIp: string;
}

/**
 * Lets an administrator in. A wrong name, a wrong password and a locked account look alike.
 *
 * @throws {Refusal} UNAUTHORIZED | RATE_LIMITED (five wrong passwords, with retry_after_ms) | BUSY
 */
export async function logInAdministrator(
  deps: AdministratorDeps,
  login: AdministratorLogin,
): Promise<{ administrator: Administrator; token: string; expiresAt: Date }> {
  const row = await deps.passwords.trying(async (matches) => {
    await deps.pause.assertOpen(login);
    const found = await deps.administrators.findOne({ where: { name: login.name.normalize('NFC') } });
    const isRight = await matches(login.password, found?.password_hash);
    if (isRight && found?.state === ADMINISTRATOR_STATES.OK) {
      await deps.pause.succeeded(login);
      return found;
    }
    await deps.pause.failed(login);
    return null;
  });
  if (row === null) throw new Refusal('UNAUTHORIZED', 'name or password is wrong');
  const { token, expiresAt } = await deps.tokens.issue(row.id, { av: row.auth_version });
  return { administrator: toAdministrator(row), token, expiresAt };
}

/**
 * Reads an administrator's token and looks whether he may still come in, and as what.
 *
 * @throws {Refusal} UNAUTHORIZED
 */
export async function verifyAdministrator(
  { tokens, administrators }: Pick<AdministratorDeps, 'tokens' | 'administrators'>,
  token: string,
): Promise<Administrator> {
  const claims = await tokens.read(token, ['av']);
  const row = await administrators.findByPk(claims.get('sub'));
  if (row?.state !== ADMINISTRATOR_STATES.OK || row.auth_version !== claims.get('av')) {
    throw new Refusal('UNAUTHORIZED', 'log in again');
  }
  return toAdministrator(row);
}

function toAdministrator(row: AdministratorRow): Administrator {
  return { id: row.id, name: row.name, role: row.role, permissions: permissionsOf(row.role) };
}
