import assert from 'node:assert/strict';
import { certificateFiles } from './plan.ts';

describe('nginx', () => {
  it('is shown certificates and keys wherever an operator keeps them', () => {
    const config =
      'server {\n  ssl_certificate /etc/own/api.pem;\n  ssl_certificate_key /etc/keys/api.key;\n}\nserver {\n  ssl_certificate /etc/own/admin.pem;\n}\n';
    assert.deepEqual(certificateFiles(config), ['/etc/own/api.pem', '/etc/keys/api.key', '/etc/own/admin.pem']);
  });
});
