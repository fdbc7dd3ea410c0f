import assert from 'node:assert/strict';
import { previewOf } from './change-chain.ts';

function previewText(text: string): string {
  const content = { t: 1, text };
  const data = JSON.stringify({ msg_id: '1', sender_id: '2', message_type: 1, status: 1, content, created_at: '' });
  return (JSON.parse(previewOf(data)) as { text: string }).text;
}

describe('previewOf', () => {
  it('keeps the first 60 characters and cuts none in two (INB-04, G-57)', () => {
    const family = '👨‍👩‍👧‍👦';
    assert.equal(previewText(family.repeat(61)), family.repeat(60));
    assert.equal(previewText('short'), 'short');
  });

  it('stays short whatever counts as one character', () => {
    const text = previewText(`e${'\u0301'.repeat(60_000)}`);
    assert.ok(text.length <= 1_024 && text.startsWith('e'));
    assert.ok(previewText(`${'\u0301'.repeat(1_023)}😀`).isWellFormed());
  });
});
