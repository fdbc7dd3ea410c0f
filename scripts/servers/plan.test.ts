import assert from 'node:assert/strict';
import { certificateDirectories } from './plan.ts';

describe('nginx', () => {
  it('is shown the directories of certificates wherever an operator keeps them', () => {
    const config =
      'server {\n  ssl_certificate /etc/own/api.pem;\n  ssl_certificate_key /etc/keys/api.key;\n}\nserver {\n  ssl_certificate /etc/own/admin.pem;\n}\n';
    assert.deepEqual(certificateDirectories(config), ['/etc/own', '/etc/keys']);
  });
});
