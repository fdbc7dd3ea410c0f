/** What an administrator may do. The same words go to im-core with each query, which checks them again. */
export const PERMISSIONS = ['group.read', 'group.govern', 'command.read'] as const;
export type Permission = (typeof PERMISSIONS)[number];

/** One row per role; the row is the whole truth about it. */
export const ROLES: Readonly<Record<string, readonly Permission[]>> = {
  super_admin: PERMISSIONS,
  operator: ['group.read', 'group.govern', 'command.read'],
  auditor: ['group.read', 'command.read'],
};

/** A role that is none (any more) may do nothing. */
export function permissionsOf(role: string): readonly Permission[] {
  return ROLES[role] ?? [];
}
