import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { externalId } from '#shared/contract/ids.ts';
import { eventually } from '#shared/testing/wait.ts';
import { isData, RefusedError } from '#client/answer.ts';
import { Person, send, twoFriends, underTest } from './people.ts';

describe('muting a member of a group', () => {
  it('goes the whole road: order, EVENT to members, refusal, one result for a repeat', async () => {
    const { appliance } = underTest();
    const { alice, bob, leave } = await twoFriends();
    const { conversationId, topic } = await appliance.api.createGroup(alice.token, 'quiet please', [bob.userId]);
    const [owner, member] = [await alice.device(), await bob.device()];
    await send(member, { conversationId, text: 'I may still talk' });
    const token = await appliance.admin.login(await underTest().admin());
    const order = {
      tenant: 'default',
      eventType: 'group.member.mute',
      commandId: `cmd_e2e_${crypto.randomUUID()}`,
      payload: { topic, user_id: externalId('usr', BigInt(bob.userId)), reason: 'e2e', expires_at: null },
    };
    const accepted = await appliance.admin.order(token, order);
    for (const device of [owner, member]) {
      const event = await device.pushes.next(
        'EVENT',
        ({ command, data }) => command === COMMANDS.EVENT && data['event'] === 'group.mute.updated',
      );
      assert.equal(event.data['topic'], topic);
      assert.equal(event.data['trace_id'], accepted.traceId);
    }
    await assert.rejects(
      send(member, { conversationId, text: 'not any more' }),
      (error) => error instanceof RefusedError && error.reason === 'MEMBER_MUTED',
    );
    await send(owner, { conversationId, text: 'others may' });
    await eventually(async () => (await appliance.admin.command(token, 'default', accepted.commandId))['status'] === 'succeeded', {
      what: 'the command to succeed',
    });
    const repeated = await appliance.admin.order(token, order);
    assert.equal(repeated.commandId, accepted.commandId);
    await assert.rejects(
      appliance.admin.order(token, { ...order, payload: { ...order.payload, reason: 'another' } }),
      (error) => error instanceof RefusedError && error.reason === 'COMMAND_DUPLICATED',
    );
    leave();
  });

  it('is what smoke does from outside, step by step (exit 0, --json with the trace)', async () => {
    const { code, stdout, stderr } = await underTest().run(['smoke', '--json', '--connect', underTest().connect]);
    assert.equal(code, 0, stderr);
    const report: unknown = JSON.parse(stdout);
    assert.ok(isData(report) && report['ok'] === true);
    assert.match(String(report['trace_id']), /^req_/);
  });

  it('makes smoke say which step failed, and exit 1, when nobody is there', async () => {
    const { code, stderr } = await underTest().run(['smoke', '--connect', '127.0.0.1:1']);
    assert.equal(code, 1);
    assert.match(stderr.trimEnd().split('\n').at(-1) ?? '', /smoke: failed at "users log in": .*ECONNREFUSED/);
  });

  it('of somebody who is not a member ends as failed and changes nothing', async () => {
    const { appliance } = underTest();
    const { alice, bob, leave } = await twoFriends();
    const outsider = await Person.register();
    const { topic } = await appliance.api.createGroup(alice.token, 'small', [bob.userId]);
    const token = await appliance.admin.login(await underTest().admin());
    const payload = { topic, user_id: externalId('usr', BigInt(outsider.userId)), reason: 'e2e', expires_at: null };
    const { commandId } = await appliance.admin.order(token, { tenant: 'default', eventType: 'group.member.mute', payload });
    await eventually(async () => (await appliance.admin.command(token, 'default', commandId))['status'] === 'failed', {
      what: 'the command to fail',
    });
    leave();
  });
});
