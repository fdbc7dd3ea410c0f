import assert from 'node:assert/strict';
import type { Refusal } from '#shared/contract/reasons.ts';
import { HandClock } from '../clock/clock.ts';
import { Passwords } from './password.ts';
import { SignedTokens } from './signed-token.ts';

const CHEAP = { logN: 4, parallel: 1 };

describe('passwords', () => {
  const passwords = new Passwords(CHEAP);
  const matches = (password: string, hash: string | undefined) => passwords.trying((compare) => compare(password, hash));

  it('match their own hash and no other, in a form that names its cost', async () => {
    const hash = await passwords.hash('correct horse');
    assert.match(hash, /^\$scrypt\$ln=4,r=8,p=1\$/);
    assert.equal(await matches('correct horse', hash), true);
    assert.equal(await matches('correct hors', hash), false);
    assert.notEqual(hash, await passwords.hash('correct horse'));
  });

  it('are the same typed as one character or two', async () => {
    assert.equal(await matches('cafe\u0301', await passwords.hash('caf\u00e9')), true);
  });

  it('never match when there is no hash', async () => {
    for (const hash of [undefined, '', 'plain', '$scrypt$ln=4,r=8,p=1$$']) assert.equal(await matches('', hash), false);
  });

  it('cost the same work for a name that does not exist', async () => {
    const slow = new Passwords({ logN: 13, parallel: 2 });
    const hash = await slow.hash('x');
    const timeOf = async (of: string | undefined) => {
      const since = performance.now();
      await slow.trying((compare) => compare('wrong', of));
      return performance.now() - since;
    };
    await timeOf(hash);
    assert.ok((await timeOf(undefined)) > (await timeOf(hash)) / 4);
  });

  it('are tried a few at a time, and refused with BUSY when too many wait', async () => {
    const one = new Passwords(CHEAP, { concurrent: 1, waiting: 1 });
    await one.hash('warm');
    const gate = Promise.withResolvers<undefined>();
    let running = 0;
    const hold = () =>
      one.trying(async () => {
        running += 1;
        await gate.promise;
      });
    const outcomes = [hold(), hold(), hold()].map((work) =>
      work.then(
        () => 'done',
        (error: unknown) => (error as Refusal).reason,
      ),
    );
    assert.equal(await Promise.race(outcomes), 'BUSY');
    assert.equal(running, 1);
    gate.resolve(undefined);
    assert.deepEqual(await Promise.all(outcomes), ['done', 'done', 'BUSY']);
  });
});

describe('signed tokens', () => {
  const clock = new HandClock(Date.UTC(2026, 7, 26));
  const key = Buffer.alloc(32, 7);
  const tokens = new SignedTokens({ key, audience: 'im', ttlMs: 900_000, clock });
  const reason = (work: Promise<unknown>) =>
    work.then(
      () => 'accepted',
      (error: unknown) => (error as Refusal).reason,
    );

  it('come back with their claims until they expire', async () => {
    const { token, expiresAt } = await tokens.issue('42', { ten: 'default' });
    assert.equal(expiresAt.getTime(), clock.nowMs() + 900_000);
    assert.deepEqual(
      [...(await tokens.read(token, ['ten']))],
      [
        ['sub', '42'],
        ['ten', 'default'],
      ],
    );
    clock.step(900_000);
    assert.equal(await reason(tokens.read(token, ['ten'])), 'UNAUTHORIZED');
  });

  it('are refused from another door, with another key, without a claim, or without a signature', async () => {
    const { token } = await tokens.issue('42', {});
    const foreign = new SignedTokens({ key, audience: 'admin', ttlMs: 1_000, clock });
    const otherKey = new SignedTokens({ key: Buffer.alloc(32, 8), audience: 'im', ttlMs: 1_000, clock });
    const [, payload] = token.split('.');
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload ?? ''}.`;
    assert.equal(await reason(foreign.read(token, [])), 'UNAUTHORIZED');
    assert.equal(await reason(otherKey.read(token, [])), 'UNAUTHORIZED');
    assert.equal(await reason(tokens.read(token, ['ten'])), 'UNAUTHORIZED');
    for (const text of [unsigned, '', 'a.b.c', 'x'.repeat(5_000)]) assert.equal(await reason(tokens.read(text, [])), 'UNAUTHORIZED');
  });

  it('need a real key', () => {
    assert.throws(() => new SignedTokens({ key: Buffer.alloc(8), audience: 'im', ttlMs: 1, clock }));
  });
});
