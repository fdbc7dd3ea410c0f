import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { encodeOperatorContext } from '#shared/contract/internal-api.ts';
import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { Refusal } from '#shared/contract/reasons.ts';
import type { Reason } from '#shared/contract/reasons.ts';
import { HandClock } from '../clock/clock.ts';
import type { NonceVerdict } from './nonce-store.ts';
import { signRequest } from './sign-request.ts';
import type { RequestToSign } from './sign-request.ts';
import { decodeSignature, sha256Hex } from './signature.ts';
import { operatorOf, verifyRequest } from './verify-request.ts';
import type { IncomingRequest, VerifyDeps } from './verify-request.ts';

const NOW = Date.UTC(2026, 7, 26, 10);
const secret = Buffer.from('s3cret');
const TARGET = '/internal/admin-query/tenants/default/groups/grp7';
const OPERATOR: OperatorContext = {
  adminUserId: '1',
  adminRole: 'super_admin',
  adminPermissions: ['group.read'],
  tenantCode: 'default',
  reason: 'ticket 42',
};

function depsWith(overrides: Partial<VerifyDeps> = {}): VerifyDeps & { taken: string[]; ttls: number[]; clock: HandClock } {
  const taken: string[] = [];
  const ttls: number[] = [];
  const clock = new HandClock(NOW);
  return {
    services: [{ name: 'hotgo-admin', allow: ['admin_query'], keys: [{ id: 'k1', secret, notAfter: null }] }],
    nonces: {
      take: ({ nonce, ttlMs }): Promise<NonceVerdict> => {
        const verdict = taken.includes(nonce) ? 'replayed' : 'fresh';
        taken.push(nonce);
        ttls.push(ttlMs);
        return Promise.resolve(verdict);
      },
    },
    windowSeconds: 300,
    ...overrides,
    clock,
    taken,
    ttls,
  };
}

/** What arrives when `signed` is sent, with some headers changed or (undefined) left out. */
function arriving(
  signing: Partial<RequestToSign> = {},
  headers: Record<string, string | undefined> = {},
  as: Partial<IncomingRequest> = {},
): IncomingRequest {
  const request = { service: 'hotgo-admin', secret, method: 'GET', target: TARGET, nowMs: NOW, ...signing };
  const signed = signRequest(request);
  const all: Record<string, string | undefined> = { ...signed.headers, ...headers };
  return { method: request.method, target: signed.target, body: request.body ?? Buffer.alloc(0), header: (name) => all[name], ...as };
}

async function reasonOf(work: Promise<unknown>): Promise<Reason | 'accepted'> {
  try {
    await work;
    return 'accepted';
  } catch (error) {
    if (error instanceof Refusal) return error.reason;
    throw error;
  }
}

const verdict = (request: IncomingRequest, deps: VerifyDeps = depsWith()) => reasonOf(verifyRequest(deps, request, 'admin_query'));

describe('signed requests', () => {
  interface Vector {
    readonly name: string;
    readonly secret: string;
    readonly method: string;
    readonly target: string;
    readonly body: string;
    readonly timestamp: string;
    readonly nonce: string;
    readonly operator?: Record<string, unknown>;
    readonly x_admin_context?: string;
    readonly canonical_text: string;
    readonly signature_hex: string;
    readonly signature_base64: string;
  }
  const file = JSON.parse(readFileSync(new URL('test-vectors.json', import.meta.url), 'utf8')) as { vectors: Vector[] };

  for (const vector of file.vectors) {
    it(`accepts the published vector: ${vector.name} (SIG-10)`, async () => {
      const headers: Record<string, string | undefined> = {
        'x-service-name': 'hotgo-admin',
        'x-timestamp': vector.timestamp,
        'x-nonce': vector.nonce,
        'x-admin-context': vector.x_admin_context,
      };
      for (const signature of [
        vector.signature_hex,
        vector.signature_base64,
        `sha256=${vector.signature_hex}`,
        `sha256=${vector.signature_base64}`,
      ]) {
        const deps = depsWith({
          services: [
            { name: 'hotgo-admin', allow: ['admin_query'], keys: [{ id: 'k1', secret: Buffer.from(vector.secret), notAfter: null }] },
          ],
        });
        const request = {
          method: vector.method,
          target: vector.target,
          body: Buffer.from(vector.body),
          header: (name: string) => (name === 'x-signature' ? signature : headers[name]),
        };
        assert.equal(await verdict(request, deps), 'accepted');
        if (vector.operator !== undefined) assert.equal(operatorOf(request).reason, vector.operator['reason']);
      }
    });
  }

  it('signs what it accepts, and names the key', async () => {
    assert.deepEqual(await verifyRequest(depsWith(), arriving(), 'admin_query'), { service: 'hotgo-admin', keyId: 'k1' });
  });

  const encodings: readonly [string, string][] = [
    ['odd length', 'abc'],
    ['64 characters that are not hex', `zz${'0'.repeat(62)}`],
    ['64 characters with multibyte', `é${'0'.repeat(63)}`],
    ['empty', ''],
    ['only the prefix', 'sha256='],
    ['base64 of 31 bytes', Buffer.alloc(31).toString('base64')],
    ['base64 whose last bits are not zero', `${'A'.repeat(42)}B=`],
    ['two signatures joined', `${'0'.repeat(64)}, ${'0'.repeat(64)}`],
    ['right form, wrong value', '0'.repeat(64)],
  ];
  for (const [what, signature] of encodings) {
    it(`answers SIGNATURE_INVALID to a signature that is ${what} (E11)`, async () => {
      assert.equal(await verdict(arriving({}, { 'x-signature': signature })), 'SIGNATURE_INVALID');
    });
  }

  for (const name of ['x-service-name', 'x-timestamp', 'x-nonce', 'x-signature']) {
    it(`answers SIGNATURE_MISSING without ${name} (SIG-05..09)`, async () => {
      assert.equal(await verdict(arriving({}, { [name]: undefined })), 'SIGNATURE_MISSING');
    });
  }

  it('covers method, target, body, timestamp and nonce', async () => {
    assert.equal(await verdict(arriving({}, {}, { method: 'POST' })), 'SIGNATURE_INVALID');
    assert.equal(await verdict(arriving({}, {}, { target: `${TARGET}?x=1` })), 'SIGNATURE_INVALID');
    assert.equal(await verdict(arriving({}, {}, { body: Buffer.from(' ') })), 'SIGNATURE_INVALID');
    assert.equal(await verdict(arriving({}, { 'x-timestamp': (NOW / 1000 + 1).toString() })), 'SIGNATURE_INVALID');
    assert.equal(await verdict(arriving({}, { 'x-nonce': 'another-nonce' })), 'SIGNATURE_INVALID');
  });

  it('refuses an absolute-form target even when it is signed', async () => {
    assert.equal(await verdict(arriving({ target: 'http://evil.example/internal' })), 'SIGNATURE_INVALID');
  });

  it('refuses strangers, and nonces that are too short', async () => {
    assert.equal(await verdict(arriving({ service: 'nobody' })), 'SIGNATURE_INVALID');
    assert.equal(await verdict(arriving({ service: 'nobody', secret: Buffer.alloc(32) })), 'SIGNATURE_INVALID');
    assert.equal(await verdict(arriving({ nonce: 'short' })), 'SIGNATURE_INVALID');
  });

  it('accepts two live keys and refuses the one that ended', async () => {
    const keys = [
      { id: 'old', secret: Buffer.from('old'), notAfter: new Date(NOW + 1) },
      { id: 'new', secret: Buffer.from('new'), notAfter: null },
    ];
    const deps = depsWith({ services: [{ name: 'hotgo-admin', allow: ['admin_query'], keys }] });
    const keyOf = async (text: string) => (await verifyRequest(deps, arriving({ secret: Buffer.from(text) }), 'admin_query')).keyId;
    assert.equal(await keyOf('old'), 'old');
    assert.equal(await keyOf('new'), 'new');
    deps.clock.step(1);
    assert.equal(await verdict(arriving({ secret: Buffer.from('old') }), deps), 'SIGNATURE_INVALID');
  });

  it('holds the window to the second, in both directions (SIG-11)', async () => {
    for (const seconds of [-300, 300]) assert.equal(await verdict(arriving({ nowMs: NOW + seconds * 1_000 })), 'accepted');
    for (const seconds of [-301, 301]) assert.equal(await verdict(arriving({ nowMs: NOW + seconds * 1_000 })), 'TIMESTAMP_OUT_OF_WINDOW');
  });

  it('remembers a nonce for twice the window and a second, and refuses it a second time (SIG-07, G-48)', async () => {
    const deps = depsWith();
    const request = arriving();
    assert.equal(await verdict(request, deps), 'accepted');
    assert.equal(await verdict(request, deps), 'NONCE_REPLAYED');
    assert.deepEqual(deps.ttls, [601_000, 601_000]);
  });

  it('takes no nonce from a request whose signature does not hold', async () => {
    const deps = depsWith();
    await verdict(arriving({}, { 'x-signature': '0'.repeat(64) }), deps);
    await verdict(arriving({ nowMs: NOW - 400_000 }), deps);
    assert.deepEqual(deps.taken, []);
  });

  it('refuses with BUSY when nonces cannot be kept, and never goes on without them (X-51)', async () => {
    const nonces = { take: () => Promise.reject(new Error('redis is away')) };
    assert.equal(await verdict(arriving(), depsWith({ nonces })), 'BUSY');
  });

  it('refuses what was signed before the store began', async () => {
    const nonces = { take: () => Promise.resolve('before_store' as const) };
    assert.equal(await verdict(arriving(), depsWith({ nonces })), 'TIMESTAMP_OUT_OF_WINDOW');
  });

  it('answers SERVICE_NOT_ALLOWED outside the allow-list (SIG-15)', async () => {
    assert.equal(await reasonOf(verifyRequest(depsWith(), arriving(), 'im_config')), 'SERVICE_NOT_ALLOWED');
  });

  it('decodes hex of either case', () => {
    assert.deepEqual(decodeSignature('AB'.repeat(32)), Buffer.alloc(32, 0xab));
  });
});

describe('operator context', () => {
  const operatorReason = (request: IncomingRequest) => reasonOf(Promise.resolve().then(() => operatorOf(request)));
  const header = encodeOperatorContext(OPERATOR);
  const withContext = (text: string | undefined, target: string) => arriving({}, { 'x-admin-context': text }, { target });

  it('comes through a signed request unchanged (G-18)', () => {
    assert.deepEqual(operatorOf(arriving({ operator: OPERATOR })), OPERATOR);
    assert.deepEqual(operatorOf(arriving({ operator: OPERATOR, target: `${TARGET}?limit=5` })), OPERATOR);
  });

  const ctx = sha256Hex(header);
  const wrong: readonly [string, IncomingRequest][] = [
    ['is missing', withContext(undefined, `${TARGET}?ctx=${ctx}`)],
    ['is not bound', withContext(header, TARGET)],
    ['was changed', withContext(`${header}A`, `${TARGET}?ctx=${ctx}`)],
    ['is bound twice', withContext(header, `${TARGET}?ctx=${ctx}&ctx=${ctx}`)],
    ['is bound twice, once in disguise', withContext(header, `${TARGET}?ctx=${ctx}&%63tx=${ctx}`)],
    ['is bound in capitals', withContext(header, `${TARGET}?ctx=${ctx.toUpperCase()}`)],
  ];
  for (const [what, request] of wrong) {
    it(`is refused when it ${what}`, async () => {
      assert.equal(await operatorReason(request), 'OPERATOR_CONTEXT_INVALID');
    });
  }

  const contents: readonly [string, unknown][] = [
    ['no object', []],
    ['null', null],
    ['no reason', { ...raw(), reason: ' ' }],
    ['no tenant', { ...raw(), tenant_code: undefined }],
    ['a number for the administrator', { ...raw(), admin_user_id: 1 }],
    ['permissions that are no list', { ...raw(), admin_permissions: 'all' }],
    ['a permission that is no word', { ...raw(), admin_permissions: [7] }],
    ['a reason over 255 characters', { ...raw(), reason: 'x'.repeat(256) }],
  ];
  for (const [what, content] of contents) {
    it(`is refused with ${what} inside (QRY-17)`, async () => {
      const text = Buffer.from(JSON.stringify(content)).toString('base64url');
      assert.equal(await operatorReason(withContext(text, `${TARGET}?ctx=${sha256Hex(text)}`)), 'OPERATOR_CONTEXT_INVALID');
    });
  }

  function raw(): Record<string, unknown> {
    return { admin_user_id: '1', admin_role: 'r', admin_permissions: [], tenant_code: 'default', reason: 'x' };
  }
});
