/** Writes appliance.yml and appliance.schema.json as they are shipped. Usage: node scripts/configure/write-published.ts */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonSchema } from './json-schema.ts';
import { shippedFile } from './shipped-file.ts';

const ROOT = join(import.meta.dirname, '../..');

export function schemaText(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`;
}

if (import.meta.main) {
  await writeFile(join(ROOT, 'appliance.yml'), shippedFile());
  await writeFile(join(ROOT, 'appliance.schema.json'), schemaText());
}
