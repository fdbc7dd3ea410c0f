import { DataTypes } from 'sequelize';
import type { CreationOptional, InferAttributes, InferCreationAttributes, Model, ModelStatic, Sequelize } from 'sequelize';
import { wordColumn } from '../word-column.ts';

export const COMMAND_STATES = ['pending', 'running', 'succeeded', 'failed', 'dead'] as const;
/** `pending` and `running` wait for a result; the others are final. @see CMD-12 */
export type CommandState = (typeof COMMAND_STATES)[number];

export function isFinal(state: CommandState): boolean {
  return state !== 'pending' && state !== 'running';
}

/** A row of admin_command. 64-bit numbers are decimal strings. */
export interface CommandRow extends Model<InferAttributes<CommandRow>, InferCreationAttributes<CommandRow>> {
  id: CreationOptional<string>;
  tenant_code: string;
  command_id: string;
  fingerprint: Buffer;
  event_id: string;
  event_type: string;
  biz_type: string;
  biz_id: string;
  envelope: Buffer;
  status: CreationOptional<CommandState>;
  reason: CreationOptional<string>;
  message: CreationOptional<string>;
  result: CreationOptional<Buffer | null>;
  replay_no: CreationOptional<number>;
  attempts: CreationOptional<number>;
  next_resend_at: Date | null;
  operator_id: string;
  operator_name: string;
  trace_id: string;
  created_at: Date;
  updated_at: Date;
  finished_at: CreationOptional<Date | null>;
}

export type CommandModel = ModelStatic<CommandRow>;

export function commandModel(sequelize: Sequelize): CommandModel {
  return sequelize.define<CommandRow>('admin_command', {
    id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
    tenant_code: wordColumn('tenant_code', 32),
    command_id: wordColumn('command_id', 128),
    fingerprint: { type: DataTypes.BLOB, allowNull: false },
    event_id: wordColumn('event_id', 128),
    event_type: wordColumn('event_type', 64),
    biz_type: wordColumn('biz_type', 64),
    biz_id: wordColumn('biz_id', 128),
    envelope: { type: DataTypes.BLOB('medium'), allowNull: false },
    status: { type: DataTypes.ENUM(...COMMAND_STATES), allowNull: false, defaultValue: 'pending' },
    reason: { ...wordColumn('reason', 64), defaultValue: '' },
    message: { type: DataTypes.STRING(500), allowNull: false, defaultValue: '' },
    result: { type: DataTypes.BLOB('medium'), allowNull: true },
    replay_no: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 0 },
    attempts: { type: DataTypes.INTEGER, allowNull: false, defaultValue: 1 },
    next_resend_at: { type: DataTypes.DATE(3), allowNull: true },
    operator_id: { type: DataTypes.BIGINT, allowNull: false },
    operator_name: { type: DataTypes.STRING(64), allowNull: false },
    trace_id: wordColumn('trace_id', 128),
    created_at: { type: DataTypes.DATE(3), allowNull: false },
    updated_at: { type: DataTypes.DATE(3), allowNull: false },
    finished_at: { type: DataTypes.DATE(3), allowNull: true },
  });
}
