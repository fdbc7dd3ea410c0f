import assert from 'node:assert/strict';
import fc from 'fast-check';
import { memberBytes } from './json-member.ts';

function member(json: string, name: string): string | undefined {
  return memberBytes(Buffer.from(json), name)?.toString();
}

describe('memberBytes', () => {
  it('gives the bytes as they were sent', () => {
    assert.equal(
      member('{"id":"1", "content" : {"t": 1.0, "n":9007199254740993} ,"z":[1]}', 'content'),
      '{"t": 1.0, "n":9007199254740993}',
    );
  });

  it('is not misled by brackets, quotes and names inside strings and inner objects', () => {
    assert.equal(member(String.raw`{"a":"}\",\"content\":1","b":{"content":2},"content":"x\\"}`, 'content'), String.raw`"x\\"`);
  });

  it('takes the last of a repeated member, and an escaped name, as JSON.parse does', () => {
    assert.equal(member(String.raw`{"content":1,"c\u006fntent":2}`, 'content'), '2');
  });

  it('knows when there is none', () => {
    assert.equal(member('{}', 'content'), undefined);
    assert.equal(member('{"a":{"content":1}}', 'content'), undefined);
  });

  it('agrees with JSON.parse on any object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
        const json = Buffer.from(JSON.stringify(object, null, indent));
        const parsed = JSON.parse(json.toString()) as Record<string, unknown>;
        for (const [name, value] of Object.entries(parsed)) {
          assert.deepEqual(JSON.parse(memberBytes(json, name)?.toString() ?? 'null'), value);
        }
      }),
    );
  });
});
