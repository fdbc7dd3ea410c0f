import { DataTypes } from 'sequelize';
import type { Model } from 'sequelize';

/** A VARBINARY column that holds a word of ours: the driver hands out bytes, the model shows text. `bytes` is its length. */
export function wordColumn(name: string, bytes: number) {
  return {
    type: DataTypes.STRING(bytes),
    allowNull: false,
    get(this: Model): string {
      return String(this.getDataValue(name as never));
    },
  };
}
