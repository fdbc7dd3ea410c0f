// Rooms and doors. A folder of services/ other than shared and client is a process; a room is a folder inside it.
/** Tests, and what only tests use, may look behind every door. */
const TEST = '[.]test[.]ts$|^services/shared/testing/';
const PROCESS = '^services/(?!shared/|client/)';

/** Room -> the rooms of the same process it may import. Every room may also import shared/contract and shared/platform. */
const DOORS = {
  gateway: [],
  commands: ['gateway'],
  deliver: ['gateway'],
  consumers: ['domain'],
  'public-api': [],
  'internal-api': ['domain'],
  'admin-api': ['domain'],
  'tenant-config': [], // im-core only: what the back office says about tenants
  callbacks: [],
  notices: [],
  relay: [],
  cron: [],
  domain: [], // hotgo-admin-api only: the rules and SQL of the hotgo database
};
/** Rooms that may import shared/tenant, the rules and SQL of the tenant databases. hotgo-admin-api never may. */
const TENANT_ROOMS = ['commands', 'deliver', 'consumers', 'public-api', 'internal-api', 'callbacks', 'notices', 'cron'];
/** Package -> the only place that may import it. */
const HOMES = {
  kafkajs: '^services/shared/platform/kafka/',
  ioredis: '^services/shared/platform/redis/',
  mysql2: '^services/shared/platform/mysql/',
  sequelize: '^services/(shared/platform/mysql|hotgo-admin-api/domain)/',
  convict: '/config[.]ts$|^services/shared/platform/config/',
  'proxy-protocol-js': '^services/im-core/gateway/',
  'node-cron': '^services/outbox-and-cron/cron/',
  express: '^services/([^/]+/(public|internal|admin)-api|shared/platform/http)/',
};
const rooms = Object.keys(DOORS);
const error = (name, from, to, comment) => ({ name, severity: 'error', comment, from, to });

module.exports = {
  forbidden: [
    error('no-circular', {}, { circular: true }),
    error(
      'every-file-has-a-room',
      { path: PROCESS, pathNot: [TEST, `^services/[^/]+/(${rooms.join('|')})/`, '^services/[^/]+/(main|config)[.]ts$'] },
      {},
    ),
    error(
      'processes-do-not-import-each-other',
      { path: '^services/(?!shared/|client/)([^/]+)/', pathNot: TEST },
      { path: PROCESS, pathNot: '^services/$1/' },
      'They meet in shared/contract, over Kafka or over HTTP.',
    ),
    ...rooms.map((room) =>
      error(
        `doors-of-${room}`,
        { path: `^services/[^/]+/${room}/`, pathNot: TEST },
        { path: `${PROCESS}[^/]+/(${rooms.filter((other) => other !== room && !DOORS[room].includes(other)).join('|')})/` },
      ),
    ),
    error(
      'the-gateway-stores-nothing',
      { path: '^services/im-core/gateway/', pathNot: TEST },
      { path: '^services/shared/platform/(mysql|redis|kafka|events)/' },
      'The event loop that moves bytes waits for no store.',
    ),
    error(
      'contract-is-pure',
      { path: '^services/shared/contract/', pathNot: TEST },
      { pathNot: ['^services/shared/contract/', '^(crypto|zlib)$', '^node_modules/ulid/'] },
    ),
    error(
      'platform-knows-no-business',
      { path: '^services/shared/platform/', pathNot: TEST },
      { path: '^services/', pathNot: '^services/shared/(platform|contract)/' },
    ),
    error(
      'tenant-rules-face-inward',
      { path: '^services/shared/tenant/', pathNot: TEST },
      { path: '^services/', pathNot: '^services/shared/(tenant|platform|contract)/' },
    ),
    error(
      'who-may-open-the-tenant-room',
      {
        path: '^services/',
        pathNot: [
          TEST,
          '^services/shared/tenant/',
          '^services/(im-core|outbox-and-cron)/(main|config)[.]ts$',
          `^services/(im-core|outbox-and-cron)/(${TENANT_ROOMS.join('|')})/`,
        ],
      },
      { path: '^services/shared/tenant/' },
      'The back office never reads a tenant database.',
    ),
    error(
      'testing-only-in-tests',
      { pathNot: [TEST, '^e2e/', '^scripts/(cli/test|migrate/write-dumps[.]ts$)'] },
      { path: '^services/shared/testing/' },
    ),
    error('e2e-uses-the-front-door', { path: '^e2e/' }, { path: '^services/', pathNot: '^services/(client|shared/(contract|testing))/' }),
    error(
      'the-client-knows-the-contract-alone',
      { path: '^services/client/', pathNot: TEST },
      { path: '^(services|scripts)/', pathNot: '^services/(client|shared/contract)/' },
    ),
    error('services-do-not-know-the-scripts', { path: '^services/', pathNot: TEST }, { path: '^scripts/' }),
    error(
      'scripts-open-no-room',
      { path: '^scripts/', pathNot: TEST },
      { path: PROCESS, pathNot: '/config[.]ts$' },
      'They read what a room calls its settings and nothing else.',
    ),
    ...Object.entries(HOMES).map(([name, home]) =>
      error(`home-of-${name}`, { path: '^services/', pathNot: [home, TEST] }, { path: `^node_modules/(@types/)?(${name})/` }),
    ),
    error(
      'sockets-live-in-the-gateway',
      { path: '^services/', pathNot: ['^services/im-core/gateway/', '^services/client/', '^services/shared/platform/http/', TEST] },
      { dependencyTypes: ['core'], path: '^(net|tls)$' },
    ),
    error(
      'no-dev-packages-at-run-time',
      { path: '^services/', pathNot: TEST },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true, // count type-only imports too
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
    },
  },
};
