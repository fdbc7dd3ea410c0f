import { Refusal } from '#shared/contract/reasons.ts';
import type { TenantConfig, TenantState } from '#shared/contract/tenant-config.ts';
import type { TenantModel, TenantRow } from './tenant-model.ts';

/** @throws {Refusal} RESOURCE_NOT_FOUND */
export async function findTenant(tenants: TenantModel, code: string): Promise<TenantConfig> {
  const row = await tenants.findByPk(code);
  if (row === null) throw new Refusal('RESOURCE_NOT_FOUND', 'no such tenant');
  return toConfig(row);
}

/** In the order of their codes. */
export async function listTenants(tenants: TenantModel, filter: { state?: TenantState; limit: number }): Promise<readonly TenantConfig[]> {
  const { state, limit } = filter;
  const rows = await tenants.findAll({ where: state === undefined ? {} : { state }, order: [['code', 'ASC']], limit });
  return rows.map(toConfig);
}

/** The members that im-core needs, one by one: a column that is added later does not leave by itself. @see CFG-41 */
function toConfig({ code, state, database_name, config_version }: TenantRow): TenantConfig {
  return { code, state, db_name: database_name, config_version };
}
