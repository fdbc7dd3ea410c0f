import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { COMMANDS } from '#shared/contract/commands.ts';
import { encodeFrame } from '#shared/contract/frame-codec.ts';
import { FLAG_COMPRESSED, HEADER_BYTES, writeHeader } from '#shared/contract/frame.ts';
import { within } from '#shared/testing/wait.ts';
import { RefusedError } from '#client/answer.ts';
import { ImConnection } from '#client/im-connection.ts';
import { Person, underTest } from './people.ts';

describe('a bad frame', () => {
  const bomb = deflateSync(Buffer.alloc(50 * 1024 * 1024), { level: 9 });
  const cases: readonly (readonly [string, Buffer])[] = [
    ['a body over the limit', header(0, 100_000_000)],
    ['garbage', randomBytes(4096)],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: im.localhost\r\n\r\n')],
    ['an unknown flag', header(0x4000, 0)],
    ['a zlib bomb', Buffer.concat([header(FLAG_COMPRESSED, bomb.length), bomb])],
    ['broken compression', Buffer.concat([header(FLAG_COMPRESSED, 10), randomBytes(10)])],
  ];

  for (const [what, bytes] of cases) {
    it(`ends its connection and no other: ${what} (FRM-06)`, async () => {
      const [good, bad] = [await Person.register(), await Person.register()];
      const neighbour = await good.device();
      const connection = await bad.device();
      connection.sendBytes(bytes);
      await within(connection.closed, { what: 'the end of the connection' });
      await neighbour.request(COMMANDS.HEARTBEAT, {});
      await (await bad.device()).request(COMMANDS.HEARTBEAT, {});
      good.leave();
      bad.leave();
    });
  }

  it('that stops half-way hurts nobody, and its client may come back', async () => {
    const person = await Person.register();
    const connection = await person.device();
    const frame = encodeFrame({ command: COMMANDS.HEARTBEAT, requestId: 1n, sequenceId: 1, body: Buffer.from('{}') }, 512);
    connection.sendBytes(frame.subarray(0, HEADER_BYTES + 1));
    connection.cut();
    await (await person.device()).request(COMMANDS.HEARTBEAT, {});
    person.leave();
  });

  it('is something else than a bad request: that is answered, and the connection goes on', async () => {
    const person = await Person.register();
    const device = await person.device();
    for (const command of [COMMANDS.SEND_MESSAGE, COMMANDS.READ_MESSAGE, COMMANDS.SYNC_MESSAGES, 999]) {
      await assert.rejects(device.request(command, {}), (error) => error instanceof RefusedError && error.code === 40_001);
    }
    await device.request(COMMANDS.HEARTBEAT, {});
    person.leave();
  });

  it('before AUTH is no way in: nothing but AUTH and HEARTBEAT is answered', async () => {
    const connection = await ImConnection.open(underTest().appliance.im);
    await connection.request(COMMANDS.HEARTBEAT, {});
    await assert.rejects(connection.request(COMMANDS.SYNC_INBOX, {}), (error) => error instanceof RefusedError && error.code === 40_101);
    await assert.rejects(
      connection.request(COMMANDS.AUTH, { token: 'x'.repeat(100), device_id: '1', platform: 'e2e' }),
      (error) => error instanceof RefusedError && error.code === 40_101,
    );
    await within(connection.closed, { what: 'the end of the connection' });
  });
});

function header(flags: number, bodyBytes: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  writeHeader(bytes, { command: COMMANDS.SEND_MESSAGE, flags, requestId: 1n, sequenceId: 1, bodyBytes });
  return bytes;
}
