import { Refusal } from '#shared/contract/reasons.ts';
import type { IdGenerator } from '#shared/platform/id/id-generator.ts';
import type { Passwords } from '#shared/platform/login/password.ts';
import { isDuplicateKey } from '#shared/platform/mysql/database.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { insertUser } from './user-store.ts';
import type { Profile } from './user-store.ts';

export interface NewUser {
  readonly name: string;
  readonly password: string;
  /** Default the name. */
  readonly displayName?: string;
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@-]{0,63}$/u;
/** Names of service users; nobody registers one. */
const RESERVED = /^svc-/i;
const PASSWORD_CHARS = { min: 8, max: 128 } as const;

/**
 * Creates a person. The unique name decides between two who want it; names differ by accent, not by case.
 *
 * @throws {Refusal} REGISTRATION_CLOSED | INVALID_ARGUMENT | NAME_TAKEN | BUSY
 * @see G-15
 */
export async function registerUser(
  { db, ids, passwords, registration }: { db: Database; ids: IdGenerator; passwords: Passwords; registration: 'open' | 'closed' },
  { name, password, displayName }: NewUser,
): Promise<Profile> {
  if (registration === 'closed') throw new Refusal('REGISTRATION_CLOSED', 'accounts are made by an administrator here');
  const user = { name: checkedName(name), displayName: checkedDisplayName(displayName ?? name) };
  const passwordHash = await passwords.hash(checkedPassword(password));
  const userId = ids.next();
  try {
    await insertUser(db, { ...user, userId, passwordHash });
  } catch (error) {
    if (isDuplicateKey(error)) throw new Refusal('NAME_TAKEN', 'this name is taken', { field: 'name' });
    throw error;
  }
  return { userId, ...user };
}

function checkedName(text: string): string {
  const name = text.normalize('NFC');
  if (NAME.test(name) && !RESERVED.test(name)) return name;
  throw new Refusal('INVALID_ARGUMENT', 'name has 1 to 64 letters, digits and . _ @ -, begins with a letter or digit and not with svc-', {
    field: 'name',
  });
}

function checkedDisplayName(text: string): string {
  const name = text.normalize('NFC').trim();
  if (name !== '' && Array.from(name).length <= 64 && !/\p{Cc}/u.test(name)) return name;
  throw new Refusal('INVALID_ARGUMENT', 'display_name has 1 to 64 characters on one line', { field: 'display_name' });
}

function checkedPassword(password: string): string {
  const { min, max } = PASSWORD_CHARS;
  if (password.length >= min && password.length <= max) return password;
  throw new Refusal('INVALID_ARGUMENT', `password has ${min} to ${max} characters`, { field: 'password' });
}
