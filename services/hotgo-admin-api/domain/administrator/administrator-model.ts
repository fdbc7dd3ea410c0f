import { DataTypes } from 'sequelize';
import type { CreationOptional, InferAttributes, InferCreationAttributes, Model, ModelStatic, Sequelize } from 'sequelize';
import { wordColumn } from '../word-column.ts';

export const ADMINISTRATOR_STATES = { OK: 1, LOCKED: 2 } as const;

/** A row of admin_users. 64-bit numbers are decimal strings. */
export interface AdministratorRow extends Model<InferAttributes<AdministratorRow>, InferCreationAttributes<AdministratorRow>> {
  id: CreationOptional<string>;
  name: string;
  display_name: string;
  role: string;
  password_hash: string;
  state: CreationOptional<number>;
  auth_version: CreationOptional<string>;
  created_at: Date;
  updated_at: Date;
}

export type AdministratorModel = ModelStatic<AdministratorRow>;

export function administratorModel(sequelize: Sequelize): AdministratorModel {
  return sequelize.define<AdministratorRow>('admin_users', {
    id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
    name: { type: DataTypes.STRING(64), allowNull: false },
    display_name: { type: DataTypes.STRING(64), allowNull: false },
    role: wordColumn('role', 32),
    password_hash: wordColumn('password_hash', 255),
    state: { type: DataTypes.TINYINT, allowNull: false, defaultValue: ADMINISTRATOR_STATES.OK },
    auth_version: { type: DataTypes.BIGINT, allowNull: false, defaultValue: '1' },
    created_at: { type: DataTypes.DATE(3), allowNull: false },
    updated_at: { type: DataTypes.DATE(3), allowNull: false },
  });
}
