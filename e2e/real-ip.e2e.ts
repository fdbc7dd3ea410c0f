import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { COMMANDS } from '#shared/contract/commands.ts';
import { eventually, within } from '#shared/testing/wait.ts';
import { RefusedError } from '#client/answer.ts';
import { HttpClient } from '#client/http-client.ts';
import { ImConnection } from '#client/im-connection.ts';
import { addressOf } from '#client/tls-connection.ts';
import { Person, underTest } from './people.ts';

/** More than any limit of guesses from one address. */
const MANY_GUESSES = 200;

describe('the real IP (F1, T9)', () => {
  it('of an IM client is what im-core logs (T9 a)', async function fromOutside() {
    if (!underTest().isOwn) this.skip();
    const [clientIp] = underTest().clients;
    const person = await Person.register();
    const connection = await ImConnection.open({ ...underTest().appliance.im, from: clientIp });
    await connection.request(COMMANDS.AUTH, { token: person.token, device_id: '1', platform: 'e2e' });
    await connection.close();
    const line = await eventually(
      async () => (await underTest().logOf('im-core')).find((fields) => fields['user_id'] === person.userId && 'reason' in fields),
      {
        what: "the log line of the connection's end",
      },
    );
    assert.equal(line['real_ip'], clientIp);
  });

  it('is not what an HTTP client claims in a header: wrong passwords are counted on the socket (T9 b, F1 e)', async () => {
    const { connect, servername, ca } = { ...underTest().appliance.im, servername: underTest().apiName };
    // One guesses passwords until it is paused.
    const [clientIp, guesserIp] = underTest().clients;
    const guesser = new HttpClient({ connect, servername, ca, from: guesserIp });
    const bystander = new HttpClient({ connect, servername, ca, from: clientIp });
    const reasonOf = async (client: HttpClient, forged: string): Promise<string> => {
      const headers = { 'X-Forwarded-For': forged, 'X-Real-IP': forged, Forwarded: `for=${forged}` };
      const body = { name: `nobody-${crypto.randomUUID()}`, password: 'wrong', device_id: '1', platform: 'e2e' };
      return client.call({ method: 'POST', path: '/v1/auth/login', body, headers }).then(
        () => 'let in',
        (error: unknown) => (error instanceof RefusedError ? error.reason : String(error)),
      );
    };
    const reasons = new Set<string>();
    for (let guess = 0; guess < MANY_GUESSES && !reasons.has('RATE_LIMITED'); guess += 1)
      reasons.add(await reasonOf(guesser, `6.6.6.${guess}`));
    assert.deepEqual([...reasons], ['UNAUTHORIZED', 'RATE_LIMITED']);
    assert.equal(await reasonOf(bystander, guesserIp), 'UNAUTHORIZED');
    guesser.close();
    bystander.close();
  });

  it('cannot be forged: a PROXY line from outside ends the connection (T9 c)', async () => {
    const socket = connectTcp(addressOf(underTest().connect));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('PROXY TCP4 203.0.113.9 10.0.0.2 51000 443\r\n');
    socket.resume();
    await within(once(socket, 'close'), { what: 'the end of the connection', deadlineMs: 35_000 });
    assert.equal(socket.bytesRead, 0);
  });

  it('is asked of nobody whose name is unknown: no certificate is shown (T9 e, NET-03)', async () => {
    for (const servername of ['unknown.example.com', '']) {
      const socket = connectTls({ ...addressOf(underTest().connect), servername, rejectUnauthorized: false });
      const { promise: outcome, resolve } = Promise.withResolvers<string>();
      socket.on('secureConnect', () => resolve('a certificate was shown'));
      socket.on('close', () => resolve('closed'));
      socket.on('error', () => undefined); // an alert says the same in other words
      assert.equal(await within(outcome, { what: 'an end', deadlineMs: 35_000 }), 'closed');
      socket.destroy();
    }
  });

  it('of plain HTTP is never reached either: closed without a word (T9 e)', async () => {
    const socket = connectTcp(addressOf(underTest().connect));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write('GET / HTTP/1.1\r\nHost: api.localhost\r\n\r\n');
    socket.resume();
    await within(once(socket, 'close'), { what: 'the end of the connection', deadlineMs: 35_000 });
    assert.equal(socket.bytesRead, 0);
  });
});
