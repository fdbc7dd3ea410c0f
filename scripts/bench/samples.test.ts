import assert from 'node:assert/strict';
import { compare, median, Samples } from './samples.ts';

describe('Samples', () => {
  it('tells exact percentiles, however many there are', () => {
    const samples = new Samples();
    for (let ms = 20_000; ms > 0; ms -= 1) samples.add(ms);
    assert.deepEqual(samples.summary(), { count: 20_000, p50: 10_000, p99: 19_800 });
    assert.deepEqual(new Samples().summary(), { count: 0, p50: undefined, p99: undefined });
  });
});

describe('compare', () => {
  it('takes the median of the pairs', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    const { pairs, ratio } = compare([pair(900, 100), pair(1_000, 100), pair(950, 190)], 8);
    assert.deepEqual(pairs, [9, 10, 5]);
    assert.equal(ratio, 9);
  });

  it('decides a goal only beyond what the same side differs from itself', () => {
    assert.equal(compare([pair(1_000, 100), pair(1_020, 100)], 8).verdict, 'met');
    assert.equal(compare([pair(500, 100), pair(510, 100)], 8).verdict, 'missed');
    assert.equal(compare([pair(1_000, 100), pair(700, 100)], 8).verdict, 'not decidable');
  });

  it('decides nothing from one pair: nobody knows the spread', () => {
    assert.equal(compare([pair(1_000, 1)], 8).verdict, 'not decidable');
  });
});

function pair(a: number, b: number): { a: number; b: number } {
  return { a, b };
}
