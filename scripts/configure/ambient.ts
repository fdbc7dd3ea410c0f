/**
 * Environment variables that other documents, images and tools give a meaning to. No setting of ours is read from one: who sets them
 * is told that they change nothing.
 */
const IGNORED: readonly string[] = [
  'ADMIN_INTERNAL_API_ENABLED',
  'ADMIN_INTERNAL_API_BASE_URL',
  'ADMIN_INTERNAL_API_SERVICE_NAME',
  'ADMIN_INTERNAL_API_SECRET',
  'ADMIN_INTERNAL_API_TIMEOUT_MS',
  'INTERNAL_API_ENABLED',
  'INTERNAL_API_TIME_WINDOW_SECONDS',
  'INTERNAL_API_HOTGO_SERVICE_NAME',
  'INTERNAL_API_HOTGO_SECRET',
  ...['MYSQL', 'REDIS', 'KAFKA', 'DB'].flatMap((server) =>
    ['HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE', 'URL', 'DSN', 'ADDR', 'BROKERS'].map((word) => `${server}_${word}`),
  ),
  'MYSQL_ROOT_PASSWORD',
  'KAFKA_BOOTSTRAP_SERVERS',
  'DATABASE_URL',
];

/** Names of such variables that are set, be it to nothing. Their values are not looked at. @see CFG-47 .. CFG-51 @see QRY-13 .. QRY-16 */
export function ignoredVariables(environment?: Readonly<Record<string, string | undefined>>): readonly string[] {
  // eslint-disable-next-line no-restricted-properties -- the one place that looks: only to say that what is set there is ignored
  const variables = environment ?? process.env;
  return IGNORED.filter((name) => variables[name] !== undefined).sort();
}
