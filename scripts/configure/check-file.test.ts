import assert from 'node:assert/strict';
import { isSetting } from '#shared/platform/config/setting.ts';
import type { Section, Setting } from '#shared/platform/config/setting.ts';
import { checkFile } from './check-file.ts';
import { ConfigProblems } from './problems.ts';
import { operatorSchema } from './schema.ts';

const linesOf = (text: string): readonly string[] => new ConfigProblems('appliance.yml', checkFile(text, operatorSchema).problems).lines;
const only = (text: string): string => {
  const lines = linesOf(text);
  assert.equal(lines.length, 1, lines.join('\n'));
  return lines[0] ?? '';
};

/** `{a: {b: VALUE}}` for the path a.b. */
const flow = (path: string, value: string): string => path.split('.').reduceRight((inner, name) => `{${name}: ${inner}}`, value);

function leaves(section: Section, path = ''): readonly (readonly [string, Setting])[] {
  return Object.entries(section).flatMap(([name, node]): readonly (readonly [string, Setting])[] => {
    const at = path === '' ? name : `${path}.${name}`;
    if (!isSetting(node)) return leaves(node, at);
    return node.rendered || node.kind === 'refused' ? [] : [[at, node]];
  });
}

function sections(section: Section, path = ''): readonly string[] {
  return Object.entries(section).flatMap(([name, node]) => {
    if (isSetting(node)) return [];
    const at = path === '' ? name : `${path}.${name}`;
    return [at, ...sections(node, at)];
  });
}

/** Values that no setting of this kind takes. */
const WRONG: Readonly<Record<Setting['kind'], readonly string[]>> = {
  boolean: ['no', 'yes', 'off', 'NO', 'True', 'TRUE', '"false"', '""', '0', '1', 'fasle', '[true]', '{a: true}'],
  integer: [
    '"5"',
    '5x',
    '5m',
    '7d',
    '1_000',
    '10%',
    '0x1BB',
    '010',
    '1e3',
    '1.5',
    '-1',
    '9007199254740993',
    'true',
    '[5]',
    '{a: 5}',
    '.inf',
  ],
  bytes: ['64KB', '64k', '64 KiB', '"64"', '1.5MiB', '-1', 'true', '[1024]', '{a: 1}', '99999GiB', '0x10'],
  duration: ['120', '120 s', '1.5h', '30x', '-30s', '"120"', '2min', '[120s]', '{a: 1s}', 'true', '99999999d', 'PT5M'],
  text: ['5', 'true', '[a]', '{a: b}', '""', '2027-01-01'],
  choice: ['5', 'true', 'opne', '[open]', '{a: b}', '""', 'OPEN'],
  list: ['5', 'text', '{a: b}', 'true'],
  map: ['5', 'text', '[a]', 'true', '[]'],
  optional: ['5', 'text', '[a]', 'true'],
  refused: ['1'],
};

describe('the check of appliance.yml', () => {
  for (const [path, setting] of leaves(operatorSchema)) {
    it(`refuses every wrong value of ${path}`, () => {
      for (const value of [...WRONG[setting.kind], '~']) {
        const line = only(flow(path, value));
        assert.match(line, /^appliance\.yml:1:\d+ /);
        assert.ok(line.includes(`${path}: `), line);
      }
    });
  }

  for (const path of sections(operatorSchema)) {
    it(`refuses an unknown key, nothing, a list and a text at ${path}`, () => {
      assert.match(only(flow(path, '{no_such_thing: 1}')), /unknown key "no_such_thing"/);
      assert.match(only(flow(path, '')), /is empty/);
      assert.match(only(flow(path, '[1]')), /must be a section .*got a list/);
      assert.match(only(flow(path, 'text')), /must be a section .*got string "text"|must be a section .*got a string/);
    });
  }

  const files: readonly (readonly [string, string, RegExp])[] = [
    ['an empty file', '', /:1:1 the file is empty/],
    ['a file of comments', '# nothing\n', /the file is empty/],
    ['a file with only ---', '---\n', /the file is empty/],
    ['a text', 'port\n', /the file must be settings/],
    ['a list', '- port: 443\n', /the file must be settings/],
    ['two documents', 'port: 443\n---\nport: 444\n', /second document/],
    ['a key twice', 'port: 443\nport: 444\n', /:2:1 port: the key "port" is here twice/],
    ['a dotted key', '"server.tcp.idle_timeout": 120s\n', /a dot does not nest/],
    ['a tab for indentation', 'server:\n\ttcp:\n', /not YAML/],
    ['an unclosed bracket', 'kafka: {enabled: true\n', /not YAML/],
    ['an unclosed quote', 'log: {level: "info}\n', /not YAML/],
    ['an anchor', 'log: &a {level: info}\n', /anchors, aliases and tags/],
    ['an alias', 'port: *x\n', /not YAML|anchors, aliases and tags/],
    ['a tag', 'port: !!str 443\n', /anchors, aliases and tags/],
    ['a merge key', 'log: {<<: {level: info}}\n', /unknown key "<<"/],
    ['YAML 1.1 by directive', '%YAML 1.1\n---\nport: 443\n', /directives/],
    ['a key that is a list', '? [a]\n: 1\n', /a key must be plain text/],
    ['an address for a name, which no TLS hello can carry', 'domain: {api: 10.0.0.1}\n', /domain\.api: must be a host name/],
    ["Kafka's own topic", 'kafka: {topics: [{name: __consumer_offsets}]}\n', /topics\[0\]\.name: must be/],
    ['a topic that Kafka takes for a folder', 'kafka: {topics: [{name: ".."}]}\n', /topics\[0\]\.name: must be/],
    [
      'a path that Nginx would read as more than one word',
      'tls: {api: {cert_file: /a b, key_file: /k}}\n',
      /cert_file: must be an absolute path/,
    ],
    ['a path with a directive in it', 'tls: {api: {cert_file: "/a;include /etc/x", key_file: /k}}\n', /cert_file: must be/],
    ['a path that Nginx would look up in a variable', 'tls: {api: {cert_file: /a, key_file: "/k$host"}}\n', /key_file: must be/],
    ['__proto__', '__proto__: {port: 1}\n', /unknown key "__proto__"/],
    ['constructor', 'constructor: 1\n', /unknown key "constructor"/],
  ];
  for (const [name, text, expected] of files) {
    it(`refuses ${name}`, () => {
      assert.match(linesOf(text)[0] ?? '', expected);
    });
  }

  const refusals: readonly (readonly [string, RegExp])[] = [
    ['server.tcp.multicore', /one process uses one core/],
    ['server.tcp.recv_buffer', /kernel/],
    ['server.tcp.send_buffer', /kernel/],
    ['server.tcp.proxy_protocol', /always on/],
    ['server.tcp.tls', /write your own certificates under tls/],
    ['server.tcp.addr', /made by configure/],
    ['server.http.addr', /made by configure/],
    ['deliver.done_ttl', /chain/],
    ['mysql', /made by configure/],
    ['redis', /fixed names/],
    ['external', /not yet supported/],
    ['admin_internal_api.base_url', /made by configure/],
    ['admin_internal_api.secret', /keys belong to a service/],
    ['kafka.brokers', /configure makes it/],
    ['server.tcp.listen', /configure makes it/],
  ];
  for (const [path, expected] of refusals) {
    it(`says why ${path} is not a setting`, () => {
      assert.match(only(flow(path, '{a: 1}')), expected);
    });
  }

  it('T1: finds a typo at any depth, suggests, tells all of them at once, and shows no secret', () => {
    const lines = linesOf(`server: { tcp: { max_frame_sise: 1 } }
kafka:
  topics:
    - naem: im.audit.event
internal_api:
  services: { crm: { allow: [admin_query], secert: "s3cr3t-s3cr3t-s3cr3t-s3cr3t-1234" } }
"redis.maxmemory": 1gb
`);
    assert.deepEqual(lines.slice(0, 2), [
      'appliance.yml:1:18 server.tcp.max_frame_sise: unknown key "max_frame_sise" (did you mean "max_frame_size"?)',
      'appliance.yml:4:7 kafka.topics[0].naem: unknown key "naem" (did you mean "name"?)',
    ]);
    assert.match(
      lines[2] ?? '',
      /^appliance\.yml:6:44 internal_api\.services\.crm\.secert: unknown key "secert" \(did you mean "secret"\?\).*write keys/,
    );
    assert.match(lines[3] ?? '', /^appliance\.yml:7:1 redis\.maxmemory: unknown key "redis\.maxmemory"; a dot does not nest/);
    assert.equal(lines.length, 4);
    assert.ok(!lines.join('\n').includes('s3cr3t'));
  });

  it('T2: takes only true and false for a switch, and says what to write', () => {
    for (const value of ['off', 'no', 'NO']) {
      assert.equal(
        only(`internal_api: {enabled: ${value}}`),
        `appliance.yml:1:25 internal_api.enabled: must be true or false, got string "${value}" (YAML 1.2: write false)`,
      );
    }
    for (const value of ['"false"', '""', '0', 'fasle', '~', 'False'])
      assert.match(only(`internal_api: {enabled: ${value}}`), /must be true or false, got /);
    assert.deepEqual(linesOf('internal_api: {enabled: false}'), []);
  });

  it('never shows what stands in the place of a secret', () => {
    const secrets = [
      'hunter2',
      '"short"',
      '{a: hunter2}',
      '[hunter2]',
      '12345678901234567890',
      '"with space hunter2 with space hunter2 with"',
    ];
    for (const secret of secrets) {
      const line = only(`internal_api: {services: {crm: {allow: [admin_query], keys: [{id: k1, secret: ${secret}}]}}}`);
      assert.ok(!/hunter2|short|1234567/.test(line), line);
    }
    const wrongPlace = linesOf('internal_api: {services: {crm: {allow: [admin_query], keys: s3cr3t-s3cr3t-s3cr3t-s3cr3t-1234}}}');
    assert.ok(!wrongPlace.join('').includes('s3cr3t'));
    assert.ok(!linesOf('internal_api: {services: {crm: {keys: [{secret: "s3cr3t-s3cr3t}').join('').includes('s3cr3t'));
  });

  it('takes values at the ends of their range and refuses the next', () => {
    assert.deepEqual(linesOf('{port: 1}'), []);
    assert.deepEqual(linesOf('{port: 65535}'), []);
    assert.match(only('{port: 0}'), /must be from 1 to 65535/);
    assert.match(only('{port: 65536}'), /must be from 1 to 65535/);
    assert.match(only('{server: {tcp: {idle_timeout: 9s}}}'), /must be from 10s to 3000s/);
    assert.match(only('{server: {tcp: {max_frame_size: 2MiB}}}'), /must be from 8KiB to 1MiB/);
  });

  it('reads units', () => {
    const { values } = checkFile(
      '{server: {tcp: {idle_timeout: 2m, max_frame_size: 256KiB, compress_min_size: 1024}}, message: {msgid_expire_ms: 5000}}',
      operatorSchema,
    );
    const { server, message } = values as { server: { tcp: object }; message: object };
    assert.deepEqual({ ...server.tcp }, { ...server.tcp, idle_timeout_ms: 120_000, max_frame_size: 262_144, compress_min_size: 1_024 });
    assert.deepEqual({ ...message }, { ...message, msgid_expire_ms: 5_000 });
  });

  it('names the list of service keys in a map of services', () => {
    assert.match(only('internal_api: {services: {"Bad Name": {allow: [admin_query]}}}'), /the key must be a service name/);
    assert.match(only('internal_api: {services: {crm: {allow: [admin_qurey]}}}'), /did you mean "admin_query"/);
    assert.match(only('internal_api: {services: {crm: {allow: []}}}'), /must have 1 to/);
    assert.match(only('internal_api: {services: {crm: {}}}'), /crm\.allow: is missing/);
    assert.match(only('internal_api: {services: {crm: {allow: [admin_query], keys: [{id: k1, secret: short}]}}}'), /at least 32/);
    assert.match(
      only('internal_api: {services: {crm: {allow: [admin_query], keys: [{id: k1, secret_file: rel/ative}]}}}'),
      /absolute path/,
    );
    assert.match(only('internal_api: {services: {crm: {allow: [admin_query], keys: [{id: k1, not_after: 2027-01-01}]}}}'), /a time in UTC/);
  });
});
