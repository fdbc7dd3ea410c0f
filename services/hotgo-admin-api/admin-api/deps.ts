import type { Log } from '#shared/platform/log/log.ts';
import type { AdministratorDeps } from '../domain/administrator/administrator.ts';
import type { CreateCommandDeps } from '../domain/command/create-command.ts';
import type { ImCoreClient } from './im-core-client.ts';

/** What the administrators' HTTP API needs of the process. */
export interface AdminApiDeps extends AdministratorDeps, CreateCommandDeps {
  /** Codes of the tenants that orders may name. */
  readonly tenants: readonly string[];
  readonly imCore: Pick<ImCoreClient, 'query'>;
  readonly log: Log;
}
