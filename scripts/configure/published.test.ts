import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkFile, defaultOf } from './check-file.ts';
import { operatorSchema } from './schema.ts';
import { shippedFile } from './shipped-file.ts';
import { schemaText } from './write-published.ts';

const ROOT = join(import.meta.dirname, '../..');

/** What is shipped, not what an operator of this clone has made of it; without git there is only the latter. */
function shippedText(): string {
  try {
    return execFileSync('git', ['show', ':appliance.yml'], { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return shippedFile();
  }
}

describe('what is published about the settings', () => {
  it('is the shipped appliance.yml, made from the declarations', () => {
    assert.equal(shippedText(), shippedFile(), 'run: node scripts/configure/write-published.ts');
  });

  it('is a JSON Schema, made from the declarations', () => {
    assert.equal(readFileSync(join(ROOT, 'appliance.schema.json'), 'utf8'), schemaText(), 'run: node scripts/configure/write-published.ts');
  });

  it('says every default as it is', () => {
    const { values, problems } = checkFile(shippedFile(), operatorSchema);
    assert.deepEqual(problems, []);
    assert.deepEqual(values, defaultOf(operatorSchema));
  });
});
