/**
 * Who may do what on which table. This list is the whole truth: what a service user has beyond it is revoked on every run.
 *
 * Only DML, table by table: a grant on a whole schema would read `_` in its name as a wildcard, and would open tables nobody thought of.
 * A table that is not named here is open to both tenant services (or to hotgo_admin in hotgo); what is named is narrower for a reason.
 */
import type { Queryable } from '#shared/platform/mysql/database.ts';
import { quoted } from './apply-schema.ts';
import { SERVICE_USERS } from './config.ts';
import type { ServiceUserName } from './config.ts';
import { JOURNAL_TABLE } from './journal.ts';
import type { SchemaKind } from './migration-files.ts';

export type Privilege = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';

const NOTHING: readonly Privilege[] = [];
const READ: readonly Privilege[] = ['SELECT'];
const APPEND: readonly Privilege[] = ['SELECT', 'INSERT'];
const KEEP: readonly Privilege[] = ['SELECT', 'INSERT', 'UPDATE'];
const ALL: readonly Privilege[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

type PerUser = Partial<Record<ServiceUserName, readonly Privilege[]>>;
const bothTenantServices = (privileges: readonly Privilege[]): PerUser => ({ im_core: privileges, im_worker: privileges });

/** What holds for a table of this kind that has no line of its own. */
const DEFAULTS: Readonly<Record<SchemaKind, PerUser>> = {
  control: bothTenantServices(ALL),
  tenant: bothTenantServices(ALL),
  hotgo: { hotgo_admin: ALL },
};

const EXCEPTIONS: Readonly<Record<SchemaKind, Readonly<Record<string, PerUser>>>> = {
  control: { im_kafka_quarantine: bothTenantServices(KEEP) },
  tenant: {
    // Stored messages, changes and membership are history: they get a state or an end, they never vanish.
    t_messages: bothTenantServices(KEEP),
    t_conversation_changes: bothTenantServices(APPEND),
    t_conversations: bothTenantServices(KEEP),
    t_p2p_conversations: bothTenantServices(KEEP),
    t_member_intervals: bothTenantServices(KEEP),
    t_users: bothTenantServices(KEEP),
    // Consumed once means consumed for ever.
    im_kafka_consume_log: bothTenantServices(KEEP),
    im_kafka_operations: bothTenantServices(KEEP),
    im_internal_query_audit: { im_core: APPEND },
  },
  hotgo: {
    admin_command: { hotgo_admin: KEEP },
    admin_kafka_consume_log: { hotgo_admin: KEEP },
    // What an administrator did stays written down.
    admin_audit_log: { hotgo_admin: APPEND },
    admin_internal_audit: { hotgo_admin: APPEND },
    // Rows come from the settings; who changes a state does it as an administrator of the database until the back office can.
    admin_tenants: { hotgo_admin: READ },
  },
};

interface Grant {
  readonly user: string;
  readonly database: string;
  readonly table: string;
  readonly privilege: string;
}

/** Brings the rights of the service users to the list, on the tables that `databases` have now. @returns how many rights changed */
export async function grantAll(
  connection: Queryable,
  databases: readonly { readonly name: string; readonly kind: SchemaKind }[],
): Promise<number> {
  const wanted = (await Promise.all(databases.map(({ name, kind }) => wantedIn(connection, name, kind)))).flat();
  const present = await presentGrants(connection);
  const keys = { wanted: new Set(wanted.map(key)), present: new Set(present.map(key)) };
  const missing = wanted.filter((grant) => !keys.present.has(key(grant)));
  const surplus = present.filter((grant) => !keys.wanted.has(key(grant)));
  for (const grant of missing) await connection.change(`GRANT ${grant.privilege} ON ${target(grant)} TO ${account(grant.user)}`);
  for (const grant of surplus) await connection.change(`REVOKE ${grant.privilege} ON ${target(grant)} FROM ${account(grant.user)}`);
  return missing.length + surplus.length;
}

/** What the list says for one table. A view is only read; the journal is nobody's. */
export function privilegesOn(kind: SchemaKind, table: string, isView: boolean, user: ServiceUserName): readonly Privilege[] {
  if (table === JOURNAL_TABLE) return NOTHING;
  const privileges = (EXCEPTIONS[kind][table] ?? DEFAULTS[kind])[user] ?? NOTHING;
  return isView && privileges.length > 0 ? READ : privileges;
}

/** Tables that the list names, to be held against the schema by a test. */
export function namedTables(kind: SchemaKind): readonly string[] {
  return Object.keys(EXCEPTIONS[kind]);
}

async function wantedIn(connection: Queryable, database: string, kind: SchemaKind): Promise<readonly Grant[]> {
  const tables = await connection.select<{ name: string; type: string }>(
    'SELECT table_name AS name, table_type AS type FROM information_schema.tables WHERE table_schema = ? ORDER BY table_name',
    [database],
  );
  return SERVICE_USERS.flatMap((user) =>
    tables.flatMap(({ name, type }) =>
      privilegesOn(kind, name, type === 'VIEW', user).map((privilege) => ({ user, database, table: name, privilege })),
    ),
  );
}

/** Everything that the service users have now, on every level, beyond the right to log in. */
async function presentGrants(connection: Queryable): Promise<readonly Grant[]> {
  const grantees = SERVICE_USERS.map((user) => account(user));
  const ofTables = await connection.select<{ grantee: string; db: string; name: string; privilege: string }>(
    'SELECT grantee AS grantee, table_schema AS db, table_name AS name, privilege_type AS privilege FROM information_schema.table_privileges WHERE grantee IN (?)',
    [grantees],
  );
  const ofSchemas = await connection.select<{ grantee: string; db: string; privilege: string }>(
    'SELECT grantee AS grantee, table_schema AS db, privilege_type AS privilege FROM information_schema.schema_privileges WHERE grantee IN (?)',
    [grantees],
  );
  const global = await connection.select<{ grantee: string; privilege: string }>(
    `SELECT grantee AS grantee, privilege_type AS privilege FROM information_schema.user_privileges WHERE grantee IN (?) AND privilege_type <> 'USAGE'`,
    [grantees],
  );
  return [
    ...ofTables.map(({ grantee, db, name, privilege }) => ({ user: userOf(grantee), database: db, table: name, privilege })),
    ...ofSchemas.map(({ grantee, db, privilege }) => ({ user: userOf(grantee), database: db, table: '', privilege })),
    ...global.map(({ grantee, privilege }) => ({ user: userOf(grantee), database: '', table: '', privilege })),
  ];
}

function userOf(grantee: string): string {
  return grantee.slice(1, grantee.indexOf("'", 1));
}

function target({ database, table }: Grant): string {
  if (database === '') return '*.*';
  return table === '' ? `${quoted(database)}.*` : `${quoted(database)}.${quoted(table)}`;
}

function key({ user, database, table, privilege }: Grant): string {
  return [user, database, table, privilege].join('\n');
}

/** Service users may come from anywhere on the internal network; the password is what identifies them. */
export function account(user: string): string {
  return `'${user}'@'%'`;
}
