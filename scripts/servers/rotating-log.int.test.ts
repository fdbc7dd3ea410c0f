import assert from 'node:assert/strict';
import { mkdir, mkdtemp, open, readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RotatingLog } from './rotating-log.ts';

describe('a log of a part', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp('/tmp/ima-log-');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('never takes more than its files, and keeps the newest lines', async () => {
    const log = new RotatingLog(join(directory, 'x.log'), { maxBytes: 100, files: 3 });
    for (let number = 100; number < 200; number += 1) log.write(`line ${number}`);
    log.close();
    const names = (await readdir(directory)).sort();
    assert.deepEqual(names, ['x.log', 'x.log.1', 'x.log.2']);
    for (const name of names) assert.ok((await stat(join(directory, name))).size <= 100);
    assert.match(await readFile(join(directory, 'x.log'), 'utf8'), /line 199\n$/);
    const kept = await Promise.all([...names].reverse().map((name) => readFile(join(directory, name), 'utf8')));
    assert.equal(kept.join('').split('\n').length - 1, 23); // 11 + 11 + 1 lines of 9 bytes, none lost between files
  });

  it('loses lines rather than its writer when the disk is full', () => {
    const log = new RotatingLog('/dev/full');
    log.write('lost');
    log.close();
  });

  it('keeps its file open when it cannot begin a new one', async () => {
    const log = new RotatingLog(join(directory, 'x.log'), { maxBytes: 20, files: 2 });
    log.write('0123456789');
    await mkdir(join(directory, 'x.log.1/x'), { recursive: true }); // in the place of the file that would be dropped
    log.write('0123456789');
    const other = await open(join(directory, 'other'), 'w'); // gets the number of a descriptor that was closed
    log.write('0123456789');
    await other.close();
    log.close();
    assert.equal(await readFile(join(directory, 'other'), 'utf8'), '');
  });

  it('goes on where an earlier process stopped', async () => {
    for (const word of ['one', 'two']) {
      const log = new RotatingLog(join(directory, 'x.log'));
      log.write(word);
      log.close();
    }
    assert.equal(await readFile(join(directory, 'x.log'), 'utf8'), 'one\ntwo\n');
  });
});
