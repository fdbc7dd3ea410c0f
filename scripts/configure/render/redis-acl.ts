import { createHash } from 'node:crypto';

/**
 * What each service may do in Redis. INFO tells a process whether Redis was restarted; the rest of @dangerous (FLUSHALL, CONFIG, KEYS,
 * SHUTDOWN, ...) is nobody's. The back office sees its own keys, nonces and wake-up lists, and no chat.
 */
const COMMANDS = '+@all -@admin -@dangerous +info';
const RULES: Readonly<Record<string, string>> = {
  im_core: `~* &* ${COMMANDS}`,
  im_worker: `~* &* ${COMMANDS}`,
  hotgo_admin: `~im:nonce:* ~hotgo:* ~admin:* ~wake:* resetchannels ${COMMANDS}`,
};

export function redisUsers(): readonly string[] {
  return Object.keys(RULES);
}

/**
 * Redis reads its own append-only file as this user. It cannot log in and has no password, so nobody else is ever it; without rights,
 * however, every transaction and every script's writes in that file would be refused at the next start, and so be lost.
 */
const DEFAULT_USER = 'user default off resetpass ~* &* +@all';

/** Redis' ACL file: passwords as SHA-256, the user of a connection that did not log in switched off. */
export function redisAcl(passwords: ReadonlyMap<string, string>): string {
  const lines = Object.entries(RULES).map(([user, rules]) => {
    const password = passwords.get(user);
    if (password === undefined) throw new Error(`no password for Redis user ${user}`);
    return `user ${user} on #${createHash('sha256').update(password).digest('hex')} ${rules}`;
  });
  return [DEFAULT_USER, ...lines, ''].join('\n');
}
