import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { Router } from 'express';
import supertest from 'supertest';
import { Refusal } from '#shared/contract/reasons.ts';
import { silentLog } from '../log/log.ts';
import type { Log, LogFields } from '../log/log.ts';
import { answer } from './answer.ts';
import { createApp } from './app.ts';
import { rawBodyOf } from './json-body.ts';
import { contextOf } from './request-context.ts';

function appWith(lines: LogFields[] = []) {
  const router = Router();
  router.post('/echo', (request, response) =>
    answer(request, response, { body: request.body as unknown, raw: rawBodyOf(request).toString('hex') }),
  );
  router.get('/context', (request, response) => answer(request, response, contextOf(request)));
  router.get('/name/:name', (request, response) => answer(request, response, { name: request.params.name }));
  router.get('/refuse', () => {
    throw new Refusal('RATE_LIMITED', 'slow down', { retry_after_ms: 1500 });
  });
  router.get('/bug', async () => {
    await Promise.resolve();
    throw new Error('secret detail');
  });
  router.get('/away', () => {
    throw Object.assign(new Error('connect ECONNREFUSED /secret/mysql.sock'), { code: 'ECONNREFUSED' });
  });
  const log: Log = { ...silentLog, error: (fields) => lines.push(fields) };
  return supertest(createApp({ log }, [{ path: '/', handler: router }], { bodyLimitBytes: 100 }));
}

const refusal = (response: { body: unknown }) => (response.body as { code: number; data: { reason: string } }).code;

describe('http application', () => {
  it('keeps the raw bytes beside the parsed body (SIG-19)', async () => {
    const text = '{"a": 1.0, "e":"\\u00e9"}';
    const response = await appWith().post('/echo').set('content-type', 'application/json; charset=UTF-8').send(text);
    assert.deepEqual((response.body as { data: unknown }).data, { body: { a: 1, e: 'é' }, raw: Buffer.from(text).toString('hex') });
  });

  const bad: readonly [string, string, Buffer | string, number, number][] = [
    ['broken JSON', 'application/json', '{"a":', 400, 40001],
    ['bytes that are not UTF-8', 'application/json', Buffer.from('22ff22', 'hex'), 400, 40001],
    ['another charset', 'application/json; charset=latin1', '{}', 400, 40001],
    ['another type', 'text/plain', '{}', 400, 40001],
    ['a body over the limit', 'application/json', JSON.stringify('x'.repeat(200)), 413, 41301],
  ];
  for (const [what, type, body, status, code] of bad) {
    it(`refuses ${what} with ${code}`, async () => {
      const lines: LogFields[] = [];
      const call = appWith(lines).post('/echo').set('content-type', type);
      call.write(body);
      const response = await call;
      assert.equal(response.status, status);
      assert.equal(refusal(response), code);
      assert.deepEqual(lines, []);
    });
  }

  it('refuses a compressed body', async () => {
    const call = appWith().post('/echo').set('content-type', 'application/json').set('content-encoding', 'gzip');
    call.write(gzipSync('{}'));
    assert.equal(refusal(await call), 40001);
  });

  it('refuses a broken %-escape with 400', async () => {
    const response = await appWith().get('/name/%zz');
    assert.equal(response.status, 400);
    assert.equal(refusal(response), 40001);
  });

  it('answers a refusal with its reason, and when to come again', async () => {
    const response = await appWith().get('/refuse').set('x-request-id', 'mine');
    assert.equal(response.status, 429);
    assert.equal(response.headers['retry-after'], '2');
    assert.deepEqual(response.body, {
      code: 42901,
      msg: 'slow down',
      request_id: 'mine',
      data: { reason: 'RATE_LIMITED', retriable: true, retry_after_ms: 1500 },
    });
  });

  it('logs a bug once, with ids, and tells the caller nothing of it', async () => {
    const lines: LogFields[] = [];
    const response = await appWith(lines).get('/bug').set('x-real-ip', '10.9.0.7');
    assert.equal(response.status, 500);
    assert.doesNotMatch(response.text, /secret|stack|\.ts/);
    const { request_id: requestId } = response.body as { request_id: string };
    assert.deepEqual(
      lines.map(({ real_ip: realIp, request_id: id }) => [realIp, id]),
      [['10.9.0.7', requestId]],
    );
  });

  it('asks the caller to come again while something it needs is away, and logs the cause', async () => {
    const lines: LogFields[] = [];
    const response = await appWith(lines).get('/away');
    assert.equal(response.status, 503);
    assert.deepEqual((response.body as { data: unknown }).data, { reason: 'BUSY', retriable: true });
    assert.doesNotMatch(response.text, /secret|ECONN/);
    assert.equal(lines.length, 1);
  });

  it('answers 404 in the same form', async () => {
    assert.equal(refusal(await appWith().get('/nothing')), 40401);
  });

  it('believes X-Real-IP and no other address header (T9 b)', async () => {
    const seen = async (headers: Record<string, string>) =>
      ((await appWith().get('/context').set(headers)).body as { data: { realIp: string } }).data.realIp;
    assert.equal(await seen({ 'x-real-ip': '10.9.0.7', 'x-forwarded-for': '1.2.3.4', forwarded: 'for=1.2.3.4' }), '10.9.0.7');
    assert.equal(await seen({ 'x-forwarded-for': '1.2.3.4' }), 'unknown');
    assert.equal(await seen({ 'x-real-ip': '1.2.3.4, 5.6.7.8' }), 'unknown');
  });

  it('takes a sane request id from the caller and makes one otherwise (X-18)', async () => {
    const ids = async (given: string) =>
      ((await appWith().get('/context').set('x-request-id', given)).body as { data: { requestId: string; traceId: string } }).data;
    assert.equal((await ids('abc-1')).requestId, 'abc-1');
    assert.match((await ids('abc-1')).traceId, /^req_[0-9A-Z]{26}$/);
    assert.match((await ids('no spaces, please')).requestId, /^req_/);
    const trace = 'req_01K3F0000000000000000000AB';
    assert.deepEqual(await ids(trace).then(({ requestId, traceId }) => [requestId, traceId]), [trace, trace]);
  });
});
