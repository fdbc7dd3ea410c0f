import { Refusal } from '#shared/contract/reasons.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import type { DialogLists } from '#shared/tenant/deliver/dialog-lists.ts';
import type { MessageWriter } from '#shared/tenant/message/message-writer.ts';

/** What the commands of one tenant need. */
export interface TenantServices {
  readonly db: Database;
  readonly writer: MessageWriter;
  readonly lists: DialogLists;
  /** Tells the notice worker that a row is waiting. */
  readonly wakeNotices: () => void;
}

export type Tenants = ReadonlyMap<string, TenantServices>;

/** @throws {Refusal} UNAUTHORIZED: a token of a tenant that is no longer declared */
export function tenantOf(tenants: Tenants, code: string): TenantServices {
  const services = tenants.get(code);
  if (services === undefined) throw new Refusal('UNAUTHORIZED', 'this tenant is not served here');
  return services;
}
