import assert from 'node:assert/strict';
import { buildCommandResult, buildEnvelope, canonicalJson, fingerprint, newId, parseCommandResult, parseEnvelope } from './envelope.ts';
import type { Envelope } from './envelope.ts';

const bytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const FIELDS = [
  'event_id',
  'trace_id',
  'tenant_code',
  'source_service',
  'target_service',
  'event_type',
  'biz_type',
  'biz_id',
  'idempotency_key',
  'version',
  'occurred_at',
  'actor',
  'payload',
];

function built(payload: Record<string, unknown> = {}): Envelope {
  return buildEnvelope({
    tenant_code: 'default',
    source_service: 'hotgo-admin',
    target_service: 'im-server',
    event_type: 'group.member.mute',
    biz_type: 'group',
    biz_id: 'grp7',
    actor: { type: 'admin', id: 'admin_1', display_name: 'Ann' },
    payload,
  });
}

const MUTE = {
  event_id: 'evt_01K_mute',
  trace_id: 'req_01K',
  tenant_code: 'default',
  source_service: 'hotgo-admin',
  target_service: 'im-server',
  event_type: 'group.member.mute',
  biz_type: 'group',
  biz_id: 'grp7',
  idempotency_key: 'cmd_01K_mute',
  occurred_at: '2026-08-26T10:00:00.000Z',
  payload: { command_id: 'cmd_01K_mute', actor_user_id: 'usr1', topic: 'grp7', user_id: 'usr2', reason: '刷屏', expires_at: null },
};

describe('envelope', () => {
  it('always emits the 13 fields (KFK-14, KFK-19)', () => {
    assert.deepEqual(Object.keys(built()), FIELDS);
    assert.match(built().occurred_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('comes back as it was built (KFK-24)', () => {
    const envelope = built({ command_id: 'cmd_1', text: '😀' });
    assert.deepEqual(parseEnvelope(bytes(envelope)), { kind: 'ok', value: envelope });
  });

  it('reuses the command id as idempotency key (CMD-16)', () => {
    assert.equal(built({ command_id: 'cmd_1' }).idempotency_key, 'cmd_1');
    const plain = built();
    assert.equal(plain.idempotency_key, plain.event_id);
  });

  it('accepts the mute command without version and actor (F-04, KFK-38)', () => {
    const parsed = parseEnvelope(bytes(MUTE));
    assert.equal(parsed.kind, 'ok');
    assert.equal(parsed.value.version, null);
    assert.deepEqual(parsed.value.actor, { type: 'system', id: 'hotgo-admin' });
  });

  it('fills a missing trace id with the event id and a missing key with command or event id (X-15)', () => {
    const cache = {
      event_id: 'cache:tenant:default:1720000000',
      event_type: 'cache.tenant.invalidate',
      tenant_code: 'default',
      payload: {},
    };
    const parsed = parseEnvelope(bytes(cache));
    assert.equal(parsed.kind, 'ok');
    assert.equal(parsed.value.trace_id, cache.event_id);
    assert.equal(parsed.value.idempotency_key, cache.event_id);
    const command = parseEnvelope(bytes({ ...cache, payload: { command_id: 'cmd_9' } }));
    assert.equal(command.kind === 'ok' && command.value.idempotency_key, 'cmd_9');
  });

  it('takes "im" for "im-server" (X-14)', () => {
    const parsed = parseEnvelope(bytes({ ...MUTE, target_service: 'im' }));
    assert.equal(parsed.kind === 'ok' && parsed.value.target_service, 'im-server');
  });

  it('calls what names no event or tenant unreadable', () => {
    const broken: (Buffer | null)[] = [
      null,
      Buffer.alloc(0),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('{"event_id":'),
      bytes([]),
      bytes('x'),
    ];
    for (const value of [
      ...broken,
      bytes({ ...MUTE, event_id: '' }),
      bytes({ ...MUTE, tenant_code: 5 }),
      bytes({ ...MUTE, event_id: 'x'.repeat(129) }),
    ]) {
      assert.equal(parseEnvelope(value).kind, 'unreadable');
    }
  });

  it('keeps the identity of a malformed event so that it can be answered (KFK-20)', () => {
    for (const wrong of [{ event_type: undefined }, { version: 1.5 }, { actor: 'me' }, { biz_id: {} }]) {
      const parsed = parseEnvelope(bytes({ ...MUTE, ...wrong }));
      assert.equal(parsed.kind, 'malformed');
      assert.equal(parsed.identity.command_id, 'cmd_01K_mute');
    }
    assert.equal(parseEnvelope(bytes({ ...MUTE, payload: [] })).kind, 'malformed');
  });

  it('has one fingerprint for one content, whatever the order of keys (X-12)', () => {
    const one = fingerprint('a', { x: 1, y: { b: [1, 2], a: null } });
    assert.deepEqual(fingerprint('a', { y: { a: null, b: [1, 2] }, x: 1 }), one);
    assert.notDeepEqual(fingerprint('a', { x: 1, y: { b: [2, 1], a: null } }), one);
    assert.notDeepEqual(fingerprint('b', { x: 1, y: { b: [1, 2], a: null } }), one);
    assert.equal(canonicalJson({ b: 1, a: { d: 'é', c: [] } }), '{"a":{"c":[],"d":"é"},"b":1}');
  });

  it('makes ids with a kind and a time order', () => {
    assert.match(newId('evt'), /^evt_[0-9A-HJKMNP-TV-Z]{26}$/);
    assert.notEqual(newId('req'), newId('req'));
  });
});

describe('command result', () => {
  const result = buildCommandResult({
    trace_id: 'req_1',
    tenant_code: 'default',
    command_id: 'cmd_1',
    command_event_id: 'evt_1',
    status: 'succeeded',
    reason: '',
    message: '',
    result: { version: 4 },
  });

  it('has the ten fields of the fixture and comes back (CMD-18, F-02)', () => {
    assert.deepEqual(Object.keys(result), [
      'event_id',
      'trace_id',
      'tenant_code',
      'command_id',
      'command_event_id',
      'status',
      'reason',
      'message',
      'result',
      'occurred_at',
    ]);
    assert.deepEqual(parseCommandResult(bytes(result)), { kind: 'ok', value: result });
  });

  it('is malformed with another status or without any name of its command (CMD-19)', () => {
    assert.equal(parseCommandResult(bytes({ ...result, status: 'done' })).kind, 'malformed');
    assert.equal(parseCommandResult(bytes({ ...result, command_id: '', command_event_id: '' })).kind, 'malformed');
    assert.equal(parseCommandResult(Buffer.from('nope')).kind, 'unreadable');
  });
});
