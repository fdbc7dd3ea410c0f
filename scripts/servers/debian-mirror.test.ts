import assert from 'node:assert/strict';
import { debianMirrorOf } from './debian-mirror.ts';

describe('the Debian archive', () => {
  it('is the one the machine uses, in both formats of apt', () => {
    assert.equal(debianMirrorOf(['Types: deb\nURIs: https://mirror.example/debian/\nSuites: stable\n']), 'https://mirror.example/debian');
    assert.equal(debianMirrorOf(['deb [arch=amd64] http://mirror.example/debian stable main\n']), 'http://mirror.example/debian');
  });

  it('is no archive of security updates, of another system, or commented out', () => {
    const others = [
      'URIs: http://mirror.example/debian-security\n',
      'deb http://mirror.example/ubuntu noble main\n# deb http://old.example/debian stable main\n',
    ];
    assert.equal(debianMirrorOf(others), 'http://deb.debian.org/debian');
  });
});
