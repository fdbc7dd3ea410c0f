import assert from 'node:assert/strict';
import { Metrics } from './metrics.ts';
import type { Reading } from './metrics.ts';
import { remember } from './remember.ts';

describe('Metrics', () => {
  it('reads a watched gauge when somebody looks, and shows no value while its source is away', async () => {
    const metrics = new Metrics();
    let rows: readonly Reading[] | undefined = [{ value: 3 }];
    metrics.watch('waiting', 'x', [], () => (rows === undefined ? Promise.reject(new Error('away')) : Promise.resolve(rows)));
    metrics.watch('by_tenant', 'x', ['tenant'], () => Promise.resolve([{ labels: { tenant: 'a' }, value: 1 }]));
    assert.match(await metrics.text(), /^waiting 3$/m);
    rows = undefined;
    const text = await metrics.text();
    assert.doesNotMatch(text, /^waiting /m);
    assert.match(text, /^by_tenant\{tenant="a"\} 1$/m);
    rows = [{ value: 0 }];
    assert.match(await metrics.text(), /^waiting 0$/m);
  });

  it('forgets labels that are gone', async () => {
    const metrics = new Metrics();
    let tenant = 'a';
    metrics.watch('rows', 'x', ['tenant'], () => Promise.resolve([{ labels: { tenant }, value: 1 }]));
    await metrics.text();
    tenant = 'b';
    assert.doesNotMatch(await metrics.text(), /tenant="a"/);
  });
});

describe('remember', () => {
  it('reads once for many who look within its time, and again after a failure', async () => {
    let now = 0;
    let reads = 0;
    let isAway = false;
    const read = (): Promise<number> => {
      reads += 1;
      return isAway ? Promise.reject(new Error('away')) : Promise.resolve(reads);
    };
    const look = remember(read, 5_000, () => now);
    assert.deepEqual(await Promise.all([look(), look(), look()]), [1, 1, 1]);
    now += 5_000;
    isAway = true;
    await assert.rejects(look());
    isAway = false;
    assert.equal(await look(), 3);
  });
});
