import assert from 'node:assert/strict';
import { inside } from './inside.ts';

describe('a server in the server root', () => {
  it('gets a directory inside another one only once', () => {
    const [, ...line] = inside('/root', 999, ['/home/run', '/home', '/home', '/homes'], ['/bin/server', '--flag']);
    assert.deepEqual(line, ['/root', '999', '/home', '/homes', '--', '/bin/server', '--flag']);
  });
});
