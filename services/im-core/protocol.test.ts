import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { COMMANDS, MESSAGE_TYPES } from '#shared/contract/commands.ts';
import { answerBody, kickFrame, syncRequiredFrame } from '#shared/contract/frame-body.ts';
import { encodeFrame, FrameReader } from '#shared/contract/frame-codec.ts';
import { FRAME_MAGIC, FRAME_VERSION, HEADER_BYTES } from '#shared/contract/frame.ts';
import { Refusal, REASONS, refusalAnswer } from '#shared/contract/reasons.ts';

const PAGE = readFileSync(new URL('PROTOCOL.md', import.meta.url), 'utf8');

describe('PROTOCOL.md', () => {
  it('has every command under its number, and no other', () => {
    const rows = [...section('3').matchAll(/^\| (\d+) \| ([A-Z_]+) \|/gm)].map(([, number, name]) => [name, Number(number)]);
    assert.deepEqual(Object.fromEntries(rows), COMMANDS);
  });

  it('has every reason with its code, status and whether it may be tried again, and no other', () => {
    const rows = [...section('4').matchAll(/^\| (\d{5}) \| (\d{3}) \| ([A-Z_]+) \| (yes|no) \|/gm)].map(
      ([, code, http, reason = '', retriable]) => [reason, { code: Number(code), http: Number(http), retriable: retriable === 'yes' }],
    );
    assert.deepEqual(Object.fromEntries(rows), REASONS);
  });

  it('names only reasons that exist', () => {
    const named = [...PAGE.matchAll(/Refused: ([^\n]+)/g)].flatMap(([, list = '']) =>
      [...list.matchAll(/\b[A-Z][A-Z_]{4,}\b/g)].map(([word]) => word),
    );
    assert.ok(named.length > 10);
    assert.deepEqual(
      named.filter((word) => !(word in REASONS)),
      [],
    );
  });

  it('describes every command that is served', () => {
    const served = Object.entries(COMMANDS).filter(([name]) => !new RegExp(`\\| ${name} \\|[^\\n]*not served`).test(PAGE));
    for (const [name, number] of served) assert.match(PAGE, new RegExp(`^### .*\\b${number} ${name}\\b`, 'm'));
  });

  it('has golden bytes that the codec writes and reads', () => {
    const golden = [...PAGE.matchAll(/^([0-9a-f]{4} 01 [0-9a-f ]+)$/gm)].map(([, hex = '']) => hex.replaceAll(' ', ''));
    const frames = [
      { command: COMMANDS.SEND_MESSAGE, requestId: 2n ** 64n - 1n, sequenceId: 7, body: Buffer.from('{"a":1}') },
      { command: COMMANDS.HEARTBEAT, requestId: 1n, sequenceId: 2, body: Buffer.alloc(0) },
    ];
    assert.deepEqual(
      frames.map((frame) => encodeFrame(frame, 512).toString('hex')),
      golden,
    );
    for (const [index, hex] of golden.entries()) {
      assert.deepEqual([...new FrameReader({ maxBodyBytes: 131_072 }).read(Buffer.from(hex, 'hex'))], [frames[index]]);
    }
  });

  it('says the header as it is', () => {
    const rows = [...section('2').matchAll(/^\| (\d+) \| u(\d+) \| \w+ \|/gm)].map(
      ([, offset, bits]) => [Number(offset), Number(bits) / 8] as const,
    );
    let end = 0;
    for (const [offset, bytes] of rows) {
      assert.equal(offset, end);
      end += bytes;
    }
    assert.equal(end, HEADER_BYTES);
    assert.match(PAGE, new RegExp(`0x${FRAME_MAGIC.toString(16).toUpperCase()}`));
    assert.match(PAGE, new RegExp(`Version \\| \`${FRAME_VERSION}\``));
  });

  it('shows envelopes in the shape that the code writes', () => {
    const [answer, refusal] = [...PAGE.matchAll(/```json\n(\{"code".*?\})\n```/gs)].map(([, json = '']) => JSON.parse(json) as object);
    assert.deepEqual(Object.keys(answer ?? {}), Object.keys(JSON.parse(answerBody('req_1', {}).toString()) as object));
    const written = refusalAnswer(new Refusal('MEMBER_MUTED'), 'req_1');
    assert.deepEqual(Object.keys(refusal ?? {}), Object.keys(written));
    assert.deepEqual((refusal as { data: object }).data, written.data);
  });

  it('gives EVENT the members that the code gives it', () => {
    const event = JSON.parse(syncRequiredFrame('default', new Date(0)).body.toString()) as { data: object };
    const [, members = ''] = /### 15 EVENT\s+\*data\* `(.*)`/.exec(PAGE) ?? [];
    const names = [...members.replace(/\{"type".*?\}/, '').matchAll(/"(\w+)"/g)].map(([, name]) => name);
    assert.deepEqual(names, Object.keys(event.data));
  });

  it('has examples that are JSON, requests with the ids as strings', () => {
    const blocks = [...PAGE.matchAll(/```json\n(.*?)\n```/gs)].map(([, text = '']) => text);
    const objects = blocks.flatMap((block) => block.replaceAll('\n ', ' ').split('\n'));
    for (const text of objects) {
      for (const [key, value] of Object.entries(JSON.parse(text) as object)) {
        if (key.endsWith('_id')) assert.equal(typeof value, 'string', key);
      }
    }
  });

  it('knows the message types and what KICK may say', () => {
    for (const [name, number] of Object.entries(MESSAGE_TYPES)) {
      if (name !== 'SYSTEM') assert.match(PAGE, new RegExp(`\\b${number} ${name}\\b`, 'i'));
    }
    const { data } = JSON.parse(kickFrame('REPLACED').body.toString()) as { data: { reason: string } };
    assert.match(section('5'), new RegExp(`\\| ${data.reason} \\|`));
  });
});

function section(number: string): string {
  return PAGE.split(/^## /m).find((text) => text.startsWith(`${number}. `)) ?? '';
}
