import assert from 'node:assert/strict';
import { parseArguments } from './arguments.ts';
import type { Command } from './command.ts';
import { CommandError } from './command.ts';
import { didYouMean } from '#scripts/configure/did-you-mean.ts';

const command: Command = {
  summary: '',
  usage: '',
  options: { follow: { kind: 'flag', short: 'f', summary: '' }, lines: { kind: 'value', short: 'n', summary: '' } },
  maxPositionals: 1,
  run: () => Promise.resolve(0),
};
const parse = (...words: readonly string[]) => parseArguments('logs', command, words);

describe('a command line', () => {
  it('takes options long and short, with = or as the next word, in any place', () => {
    for (const words of [
      ['-f', 'redis', '--lines=5'],
      ['--lines', '5', 'redis', '--follow'],
      ['redis', '-n', '5', '-f'],
    ]) {
      const { flags, values, positionals } = parse(...words);
      assert.deepEqual([[...flags], [...values], positionals], [['follow'], [['lines', '5']], ['redis']]);
    }
  });

  it('leaves everything after -- alone', () => {
    assert.deepEqual(parse('redis', '--', '--whatever', '-x').rest, ['--whatever', '-x']);
  });

  it('refuses what it does not know with exit code 2 and says what was meant', () => {
    const refusal = (message: RegExp) => (error: unknown) =>
      error instanceof CommandError && error.exitCode === 2 && message.test(error.message);
    assert.throws(() => parse('--folow'), refusal(/did you mean --follow/));
    assert.throws(() => parse('--xyzzy'), refusal(/unknown option --xyzzy$/));
    assert.throws(() => parse('--lines'), refusal(/needs a value/));
    assert.throws(() => parse('--follow=yes'), refusal(/takes no value/));
    assert.throws(() => parse('redis', 'mysql'), refusal(/unexpected "mysql"/));
  });
});

describe('did you mean', () => {
  it('finds a near word and keeps silent about a far one', () => {
    assert.equal(didYouMean('statsu', ['status', 'down', 'up']), 'status');
    assert.equal(didYouMean('frobnicate', ['status', 'down', 'up']), undefined);
  });
});
