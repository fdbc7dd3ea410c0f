import assert from 'node:assert/strict';
import { checkFile } from './check-file.ts';
import { crossCheck } from './cross-checks.ts';
import { operatorSchema } from './schema.ts';
import type { Settings } from './schema.ts';

const faults = (text: string): readonly string[] => {
  const { values, problems } = checkFile(text, operatorSchema);
  assert.deepEqual(problems, []);
  return crossCheck(values as unknown as Settings).map(([path, message]) => `${path}: ${message}`);
};
const KEY = 'k'.repeat(40);
const services = (door: string, entries: string): string => `${door}: {services: {${entries}}}`;

describe('settings that must fit each other', () => {
  it('are fine as they are shipped', () => {
    assert.deepEqual(faults('{}'), []);
  });

  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['a content larger than a frame', '{message: {max_content_size: 128KiB}}', /server\.tcp\.max_frame_size: must be at least 132KiB/],
    [
      'a content larger than a request',
      '{message: {max_content_size: 100KiB}, server: {http: {max_body_size: 64KiB}}}',
      /server\.http\.max_body_size: must be at least 104KiB/,
    ],
    ['a keepalive that never fires', '{server: {tcp: {keepalive: 120s}}}', /keepalive: must be shorter/],
    ['an access token that outlives its session', '{auth: {access_ttl: 2h, refresh_ttl: 1h}}', /access_ttl: must not be longer/],
    ['two names that are one', '{domain: {im: api.localhost}}', /domain\.im: must differ/],
    ['an admin name that is another', '{domain: {admin: im.localhost}}', /domain\.admin: must differ/],
    ['a reserved tenant', '{tenants: [{code: default}, {code: control}]}', /tenants\[1\]\.code: "control" is reserved/],
    ['a tenant named like a route', '{tenants: [{code: by-id}]}', /reserved/],
    ["a tenant whose Redis keys would be another tenant's", '{tenants: [{code: wake}]}', /reserved/],
    ['a tenant whose Redis keys the back office could read', '{tenants: [{code: admin}]}', /reserved/],
    ['a tenant twice', '{tenants: [{code: a}, {code: a}]}', /tenants\[1\]\.code: "a" is here twice/],
    ['a topic twice', '{kafka: {topics: [{name: crm.x}, {name: crm.x}]}}', /topics\[1\]\.name: topic crm\.x is here twice/],
    ['topics that metrics cannot tell apart', '{kafka: {topics: [{name: crm.x}, {name: crm_x}]}}', /only in "\." and "_"/],
    ['a topic that looks like ours in metrics', '{kafka: {topics: [{name: im.audit_event}]}}', /differs from topic im\.audit\.event only/],
    ['a mistyped topic of ours', '{kafka: {topics: [{name: im.adnim.command}]}}', /did you mean "im\.admin\.command"/],
    ['a caller that is no service', '{admin_internal_api: {service_name: other}}', /"other" is not among/],
    [
      'a key without a secret',
      services('internal_api', 'crm: {allow: [alarm], keys: [{id: k1}]}'),
      /keys\[0\]: needs secret or secret_file/,
    ],
    ['a key with two', services('internal_api', `crm: {allow: [alarm], keys: [{id: k1, secret: ${KEY}, secret_file: /x}]}`), /one of them/],
    [
      'a key id twice',
      services('internal_api', `crm: {allow: [alarm], keys: [{id: k1, secret: ${KEY}}, {id: k1, secret: ${KEY}2}]}`),
      /keys\[1\]\.id: "k1" is here twice/,
    ],
    [
      'a date that does not exist',
      services('internal_api', `crm: {allow: [alarm], keys: [{id: k1, secret: ${KEY}, not_after: "2027-02-30T00:00:00Z"}]}`),
      /not a time that exists/,
    ],
    [
      'one secret for two services',
      services(
        'internal_api',
        `a: {allow: [alarm], keys: [{id: k1, secret: ${KEY}}]}, b: {allow: [alarm], keys: [{id: k1, secret: ${KEY}}]}`,
      ),
      /internal_api\.services\.b\.keys\[0\]\.secret: is the same secret as one of internal_api\.services\.a/,
    ],
    [
      'a back office that may not ask',
      services('internal_api', 'hotgo-admin: {allow: [alarm]}'),
      /internal_api\.services\.hotgo-admin\.allow: must contain "admin_query"/,
    ],
    ['a network that is none', '{internal_api: {allow_cidrs: [10.0.0.0/33]}}', /allow_cidrs\[0\]: is not a network/],
    ['an address that is none', '{internal_api: {allow_cidrs: [10.0.0.256/8]}}', /is not a network/],
  ];
  for (const [name, text, expected] of cases) {
    it(`refuses ${name}`, () => {
      const found = faults(text);
      assert.equal(found.length, 1, found.join('\n'));
      assert.match(found[0] ?? '', expected);
    });
  }

  it('shows no secret', () => {
    const text = services(
      'internal_api',
      `a: {allow: [alarm], keys: [{id: k1, secret: ${KEY}}]}, b: {allow: [alarm], keys: [{id: k1, secret: ${KEY}}]}`,
    );
    assert.ok(!faults(text).join('\n').includes(KEY));
  });

  it('takes topics of others, and other sizes for ours', () => {
    assert.deepEqual(faults('{kafka: {topics: [{name: im.admin.command, partitions: 8}, {name: crm.events, retention: 1h}]}}'), []);
  });
});
