import assert from 'node:assert/strict';
import { ConfigError, readConfig } from './load-config.ts';
import { bytes, choice, duration, integer, list, map, optionalText, refused, rendered, text } from './setting.ts';
import { parseBytes, parseDuration, showBytes } from './units.ts';

const sections = {
  server: {
    listen: rendered(text('address')),
    idle_timeout: duration('silence', { default: '120s', min: '1s', max: '1h' }),
    max_frame_size: bytes('limit', { default: 1024, min: 1, max: 2048 }),
    multicore: refused('no'),
  },
  services: rendered(list('callers', { name: text('name'), not_after: optionalText('time') })),
  keys: rendered(map('keys', { pattern: /./, description: 'any' }, text('path'))),
  level: choice('level', ['info', 'debug'], 'info'),
  size: integer('size', { default: 1, min: 1, max: 9 }),
};
const head = { generated: 'for a test', config_hash: 'abc', service: 'x' };
const good = { ...head, server: { listen: 'unix:/x' }, services: [{ name: 'a', not_after: null }], keys: { a: '/k' } };
const read = (content: object): ReturnType<typeof readConfig<typeof sections>> => readConfig('x.json', JSON.stringify(content), sections);

describe('a rendered file', () => {
  it('becomes a typed object with defaults, frozen to its depth', () => {
    const config = read(good);
    const idle: number = config.server.idle_timeout_ms;
    const names: readonly string[] = config.services.map(({ name }) => name);
    const level: 'info' | 'debug' = config.level;
    assert.deepEqual([idle, names, level, config.server.max_frame_size, config.keys['a']], [120_000, ['a'], 'info', 1024, '/k']);
    assert.throws(() => Object.assign(config.services[0] ?? {}, { name: 'b' }), TypeError);
  });

  const wrong: readonly (readonly [string, object, RegExp])[] = [
    ['lacks what has no default', { ...good, server: {} }, /server\.listen/],
    ['has an unknown key', { ...good, server: { listen: 'unix:/x', lisen: 1 } }, /server\.lisen/],
    ['has an unknown key in a list', { ...good, services: [{ name: 'a', nmae: 'b' }] }, /nmae is not declared/],
    ['has a refused key', { ...good, server: { listen: 'unix:/x', multicore: true } }, /multicore/],
    ['has a wrong type', { ...good, size: '5' }, /size/],
    ['is out of range', { ...good, size: 10 }, /size.*from 1 to 9/],
    ['has a wrong word', { ...good, level: 'loud' }, /level.*info, debug/],
    ['has a section in place of a value', { ...good, size: { a: 1 } }, /size/],
    ['has a value in place of a section', { ...good, server: 'x' }, /server/],
    ['does not say where it comes from', { ...good, generated: undefined }, /generated/],
  ];
  for (const [name, content, expected] of wrong) {
    it(`is refused when it ${name}`, () => {
      assert.throws(
        () => read(content),
        (error) => error instanceof ConfigError && expected.test(error.message),
      );
    });
  }

  it('names every problem and shows no value', () => {
    const content = { ...good, size: 'hunter2', level: 'hunter2', services: [{ name: ['hunter2'] }], keys: 'hunter2' };
    assert.throws(
      () => read(content),
      (error) =>
        error instanceof ConfigError &&
        !error.message.includes('hunter2') &&
        ['size', 'level', 'services', 'keys'].every((path) => error.message.includes(path)),
    );
    assert.throws(
      () => readConfig('x.json', '{"secret": hunter2}', sections),
      (error) => error instanceof ConfigError && !error.message.includes('hunter2'),
    );
  });
});

describe('units', () => {
  it('reads durations and byte counts exactly as they are documented', () => {
    assert.deepEqual(['120s', '10m', '5ms', '30d', '0s'].map(parseDuration), [120_000, 600_000, 5, 2_592_000_000, 0]);
    assert.deepEqual(['64KiB', '1MiB', '7B'].map(parseBytes), [65_536, 1_048_576, 7]);
    for (const text of ['120', '120 s', '1.5s', '-1s', '30x', '5M', '010s', '9007199254740993ms'])
      assert.equal(parseDuration(text), undefined, text);
    for (const text of ['64KB', '64k', '64', '0x10B', '1_000B']) assert.equal(parseBytes(text), undefined, text);
    assert.deepEqual([131_072, 1_048_576, 512, 1_536].map(showBytes), ['128KiB', '1MiB', '512', '1536']);
  });
});
