/** Writes sql/dump/*.sql from the migrations, on a MySQL server of its own. Usage: node scripts/migrate/write-dumps.ts */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import { startOwnMysql } from '#shared/testing/own-servers.ts';
import { applySchema } from './apply-schema.ts';
import { dumpSchema } from './dump.ts';
import { SCHEMA_KINDS, SQL_DIRECTORY } from './migration-files.ts';

const server = await startOwnMysql();
try {
  const connection = await openConnection(server);
  await mkdir(join(SQL_DIRECTORY, 'dump'), { recursive: true });
  for (const kind of SCHEMA_KINDS) {
    await applySchema(connection, kind, `dump_${kind}`);
    await writeFile(join(SQL_DIRECTORY, 'dump', `${kind}.sql`), await dumpSchema(connection, kind, `dump_${kind}`));
  }
  await connection.close();
} finally {
  await server.stop();
}
