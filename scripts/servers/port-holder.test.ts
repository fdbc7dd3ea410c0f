import assert from 'node:assert/strict';
import { listeningInodes } from './port-holder.ts';

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 0100007F:01BB 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4 30 10 -1
   2: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
`;

describe('who holds a port', () => {
  it('is who listens on it, not who is connected to it', () => {
    assert.deepEqual(listeningInodes(TABLE, 443), ['4711']);
    assert.deepEqual(listeningInodes(TABLE, 8080), ['4713']);
    assert.deepEqual(listeningInodes(TABLE, 80), []);
  });
});
