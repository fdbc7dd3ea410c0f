import { DataTypes } from 'sequelize';
import type { InferAttributes, InferCreationAttributes, Model, ModelStatic, Sequelize } from 'sequelize';
import { TENANT_STATES } from '#shared/contract/tenant-config.ts';
import type { TenantState } from '#shared/contract/tenant-config.ts';
import { wordColumn } from '../word-column.ts';

/** A row of admin_tenants. 64-bit numbers are decimal strings. */
export interface TenantRow extends Model<InferAttributes<TenantRow>, InferCreationAttributes<TenantRow>> {
  code: string;
  database_name: string;
  state: TenantState;
  config_version: string;
}

export type TenantModel = ModelStatic<TenantRow>;

export function tenantModel(sequelize: Sequelize): TenantModel {
  return sequelize.define<TenantRow>('admin_tenants', {
    code: { ...wordColumn('code', 32), primaryKey: true },
    database_name: wordColumn('database_name', 64),
    state: { type: DataTypes.ENUM(...TENANT_STATES), allowNull: false },
    config_version: { type: DataTypes.BIGINT, allowNull: false },
  });
}
