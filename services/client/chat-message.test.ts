import assert from 'node:assert/strict';
import { MessageChain } from './chat-message.ts';

describe('MessageChain', () => {
  it('advances along prev_msg_id, drops repeats, and stops at a gap', () => {
    const chain = new MessageChain('9007199254740992');
    assert.equal(chain.offer({ msgId: '9007199254740993', prevMsgId: '9007199254740992' }), 'next');
    assert.equal(chain.offer({ msgId: '9007199254740993', prevMsgId: '9007199254740992' }), 'repeat');
    assert.equal(chain.offer({ msgId: '9007199254740999', prevMsgId: '9007199254740995' }), 'gap');
    assert.equal(chain.lastMsgId, '9007199254740993');
    chain.advanceTo('9007199254740995');
    assert.equal(chain.offer({ msgId: '9007199254740999', prevMsgId: '9007199254740995' }), 'next');
  });

  it('takes the first message that comes when it has none', () => {
    assert.equal(new MessageChain().offer({ msgId: '5', prevMsgId: '4' }), 'next');
  });
});
