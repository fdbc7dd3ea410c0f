import { readFile, rm, writeFile, chown } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './command.ts';
import type { ServerDeps } from './inside.ts';
import { fillOnce, inside, ownDirectory, socketDirectory } from './inside.ts';
import { answers } from './probe.ts';
import { SERVER_USERS } from './root.ts';
import type { Server } from './server.ts';
import { startServer } from './server.ts';

/** An account with every right, made when the data directory is made. */
export interface MysqlAdmin {
  readonly user: string;
  readonly passwordFile: string;
  /** Default localhost, which is what the socket is to MySQL. */
  readonly host?: string;
}

export interface MysqlOptions {
  /** Text of mysqlConfig(), readable by anybody: it has no secret. */
  readonly configFile: string;
  readonly dataDirectory: string;
  readonly socketPath: string;
  /** With one, `root` is locked; without, `root` has no password and whoever reaches the socket is root. */
  readonly admin?: MysqlAdmin;
}

const UID = SERVER_USERS.mysql;

/** Starts MySQL; the first start makes its data directory (about 3 s). Ready when it greets on its socket. */
export async function startMysql(deps: ServerDeps, options: MysqlOptions): Promise<Server> {
  const { configFile, dataDirectory, socketPath, admin } = options;
  await fillOnce(dataDirectory, UID, (directory) => initialise(deps, { configFile, directory, admin }));
  const sockets = await socketDirectory(socketPath);
  // Left by a server that was killed; the lock file would be believed when its process id is somebody else's by now.
  await rm(socketPath, { force: true });
  await rm(`${socketPath}.lock`, { force: true });
  const [command = '', ...args] = inside(
    deps.serverRoot,
    UID,
    [dirname(configFile), dataDirectory, sockets],
    ['/usr/sbin/mysqld', `--defaults-file=${configFile}`],
  );
  return startServer({
    name: 'mysql',
    command,
    args,
    onLine: deps.onLine ?? (() => undefined),
    stopping: deps.stopping,
    isReady: () => isMysqlUp(socketPath),
    readyDeadlineMs: 120_000, // Recovery after a crash reads the redo log.
  });
}

/** MySQL greets first: a packet whose fifth byte is protocol version 10. */
export async function isMysqlUp(socketPath: string): Promise<boolean> {
  return answers({ path: socketPath }, '', /^[^]{4}\n/);
}

interface Initialise {
  readonly configFile: string;
  readonly directory: string;
  readonly admin: MysqlAdmin | undefined;
}

async function initialise({ serverRoot, onLine }: ServerDeps, { configFile, directory, admin }: Initialise): Promise<void> {
  const accounts = `${directory}.accounts`;
  await ownDirectory(accounts, UID);
  try {
    const statements = join(accounts, 'accounts.sql');
    await writeFile(statements, admin === undefined ? '' : await accountStatements(admin), { mode: 0o600 });
    await chown(statements, UID, UID);
    const mysqld = ['/usr/sbin/mysqld', `--defaults-file=${configFile}`, '--initialize-insecure', `--datadir=${directory}`];
    // Nobody could use what it writes so far, so there is nothing to keep safe; a start that is cut short begins anew.
    const fast = ['--disable-log-bin', '--innodb-flush-log-at-trx-commit=0', '--sync-binlog=0'];
    const [command = '', ...args] = inside(
      serverRoot,
      UID,
      [dirname(configFile), directory, accounts],
      [...mysqld, ...fast, `--init-file=${statements}`],
    );
    await run(command, args, onLine === undefined ? {} : { onLine });
  } finally {
    await rm(accounts, { recursive: true, force: true });
  }
}

async function accountStatements({ user, passwordFile, host = 'localhost' }: MysqlAdmin): Promise<string> {
  const password = (await readFile(passwordFile, 'utf8')).trim();
  const account = `${quoted(user)}@${quoted(host)}`;
  return [
    `CREATE USER ${account} IDENTIFIED BY ${quoted(password)};`,
    `GRANT ALL ON *.* TO ${account} WITH GRANT OPTION;`,
    `ALTER USER 'root'@'localhost' ACCOUNT LOCK;`,
    '',
  ].join('\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
