import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeWhole } from './state.ts';

describe('a file of the state', () => {
  it('leaves no half of itself behind when it cannot be written', async () => {
    const folder = await mkdtemp('/tmp/ima-state-');
    await mkdir(join(folder, 'secret'));
    await assert.rejects(writeWhole(join(folder, 'secret'), 'x', 0o600), { code: 'EISDIR' });
    assert.deepEqual(await readdir(folder), ['secret']);
    await rm(folder, { recursive: true });
  });
});
