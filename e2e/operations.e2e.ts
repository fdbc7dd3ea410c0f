import assert from 'node:assert/strict';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { COMMANDS } from '#shared/contract/commands.ts';
import { externalId } from '#shared/contract/ids.ts';
import { eventually } from '#shared/testing/wait.ts';
import { isData, listOf, RefusedError } from '#client/answer.ts';
import { syncInbox, syncMessages } from '#client/sync.ts';
import { messageOn, send, twoFriends, underTest } from './people.ts';

type Line = Readonly<Record<string, unknown>>;
const SERVICES = ['im-core', 'outbox-and-cron', 'hotgo-admin-api'] as const;
type Service = (typeof SERVICES)[number];

/** What operators watch; names of OBS-02..OBS-10 and of what waits. */
const FIGURES: Readonly<Record<Service, readonly string[]>> = {
  'im-core': [
    'tcp_connections tcp_accepted_total tcp_closed_total tcp_frames_in_total tcp_frames_out_total tcp_bytes_in_total tcp_bytes_out_total',
    'tcp_handshake_seconds eventloop_react_seconds taskpool_depth taskpool_active taskpool_rejected_total command_seconds command_refused_total',
    'message_send_total message_send_stored_total message_send_repeated_total message_send_refused_total',
    'persist_latency enqueue_latency send_ack_latency deliver_queue_depth deliver_processing_depth deliver_job_latency',
    'deliver_idempotent_skip_total deliver_handed_over_total outbound_drop_total push_ack_timeout_total inbox_sync_total message_sync_total',
    'realip_missing_total kafka_consumer_lag tenant_config_stale tenant_config_failed_total nodejs_eventloop_lag_seconds',
  ],
  'outbox-and-cron': [
    'outbox_sent_total outbox_pending_rows outbox_oldest_seconds notices_pending_rows notices_oldest_seconds nodejs_eventloop_lag_seconds',
  ],
  'hotgo-admin-api': [
    'outbox_sent_total outbox_pending_rows outbox_oldest_seconds admin_commands_open kafka_consumer_lag nodejs_eventloop_lag_seconds',
  ],
};

describe('operations', () => {
  before(function ownOnly() {
    if (!underTest().isOwn) this.skip();
  });

  /** Mutes somebody; the trace of that order. */
  async function mute(): Promise<{ traceId: string; commandId: string }> {
    const { appliance } = underTest();
    const { alice, bob, leave } = await twoFriends();
    const { conversationId, topic } = await appliance.api.createGroup(alice.token, 'traced', [bob.userId]);
    const member = await bob.device();
    await send(member, { conversationId, text: 'before' });
    const token = await appliance.admin.login(await underTest().admin());
    const payload = { topic, user_id: externalId('usr', BigInt(bob.userId)), reason: 'e2e', expires_at: null };
    const order = await appliance.admin.order(token, { tenant: 'default', eventType: 'group.member.mute', payload });
    await member.pushes.next('EVENT', ({ data }) => data['trace_id'] === order.traceId);
    await assert.rejects(send(member, { conversationId, text: 'after' }), (error) => error instanceof RefusedError);
    await eventually(async () => (await appliance.admin.command(token, 'default', order.commandId))['status'] === 'succeeded', {
      what: 'the command to succeed',
    });
    leave();
    return order;
  }

  async function linesOf(traceId: string): Promise<Readonly<Record<Service, readonly Line[]>>> {
    const logs = await Promise.all(SERVICES.map(async (name) => [name, await underTest().logOf(name)] as const));
    const own = (lines: readonly Line[]): readonly Line[] =>
      lines.filter((line) => line['trace_id'] === traceId && line['level'] === 'info');
    return Object.fromEntries(logs.map(([name, lines]) => [name, own(lines)])) as Readonly<Record<Service, readonly Line[]>>;
  }

  it('show one order in the logs of all three services, by its trace_id: accepted, relayed, executed, told, finished (OBS-12, INV-28)', async () => {
    const { traceId, commandId } = await mute();
    const expected: Readonly<Record<Service, readonly string[]>> = {
      'hotgo-admin-api': ['order accepted', 'relayed', 'event handled'],
      'im-core': ['event handled'],
      'outbox-and-cron': ['relayed', 'notice handed over'],
    };
    await eventually(
      async () => {
        const found = await linesOf(traceId);
        return SERVICES.every((name) => expected[name].every((message) => found[name].some((line) => line['message'] === message)));
      },
      { what: `the lines of ${traceId}`, deadlineMs: 20_000 },
    );
    const { 'im-core': executed, 'hotgo-admin-api': office } = await linesOf(traceId);
    const about = executed.find((line) => line['message'] === 'event handled');
    assert.deepEqual([about?.['command_id'], about?.['event_type'], about?.['outcome']], [commandId, 'group.member.mute', 'executed']);
    assert.ok(office.some((line) => line['message'] === 'event handled' && line['topic'] === 'im.admin.command.result'));
  });

  it('show who sent what where, with every id and no word of it, and keep words, passwords and tokens out of every log (OBS-01, OBS-14)', async () => {
    const canary = `canary-${crypto.randomUUID()}`;
    const { alice, bob, conversationId, leave } = await twoFriends();
    const [from, to] = [await alice.device(), await bob.device()];
    const { data, traceId } = await from.request(COMMANDS.SEND_MESSAGE, {
      conversation_id: conversationId,
      client_msg_id: crypto.randomUUID(),
      message_type: 1,
      content: { t: 1, text: canary },
    });
    await messageOn(to, String(data['msg_id']));
    await assert.rejects(to.request(COMMANDS.SEND_MESSAGE, { conversation_id: conversationId, note: canary }), RefusedError);
    await assert.rejects(underTest().appliance.api.login({ ...alice.credentials, password: canary }, { deviceId: '1', platform: 'e2e' }));
    const line = await eventually(
      async () => (await underTest().logOf('im-core')).find((fields) => fields['trace_id'] === traceId && fields['message'] === 'answered'),
      { what: 'the line of the send' },
    );
    const { user_id, device_id, command, conversation_id, msg_id } = line;
    assert.deepEqual(
      [user_id, device_id, command, conversation_id, msg_id],
      [alice.userId, '1', 'SEND_MESSAGE', conversationId, data['msg_id']],
    );
    assert.match(String(line['real_ip']), /^[0-9a-f.:]+$/);
    assert.ok(typeof line['connection_id'] === 'string' && line['connection_id'] !== '');
    const admin = await underTest().admin();
    const adminToken = await underTest().appliance.admin.login(admin);
    const secrets = [canary, alice.credentials.password, alice.token, admin.password, adminToken];
    const { stdout } = await underTest().run(['logs', '--lines', '100000']);
    assert.ok(stdout.includes(traceId), 'the logs that were searched are those of this run');
    assert.deepEqual(secrets.filter((secret) => stdout.includes(secret)).length, 0);
    leave();
  });

  it('have a figure for everything that operators watch, in every service (OBS-02..10)', async function processRuntime() {
    if ((await runtime()) !== 'process') this.skip();
    await mute();
    const { bob, conversationId, alice, leave } = await twoFriends();
    await send(await alice.device(), { conversationId, text: 'counted' });
    const reader = await bob.device();
    await syncInbox(reader);
    await syncMessages(reader, conversationId);
    for (const service of SERVICES) {
      const figures = await scrape(service);
      for (const name of FIGURES[service].flatMap((names) => names.split(' '))) assert.ok(figures.has(name), `${service} has no ${name}`);
    }
    const core = await scrape('im-core');
    const counted = ['message_send_total', 'message_send_stored_total', 'send_ack_latency', 'persist_latency', 'enqueue_latency'];
    for (const name of [...counted, 'inbox_sync_total', 'message_sync_total', 'deliver_job_latency', 'message_send_refused_total'])
      assert.ok((core.get(name) ?? 0) > 0, `${name} counts nothing`);
    leave();
  });

  it('have in status what waits, for each part (OBS-15)', async () => {
    const { code, stdout } = await underTest().run(['status', '--json']);
    assert.equal(code, 0);
    const report: unknown = JSON.parse(stdout);
    const parts = isData(report) ? listOf(report, 'parts') : [];
    const lagOf = (name: string): readonly string[] => {
      const lag: unknown = parts.find((part) => part['name'] === name)?.['lag'];
      return isData(lag) && Object.values(lag).every((value) => typeof value === 'number') ? Object.keys(lag).sort() : [];
    };
    assert.deepEqual(lagOf('im-core'), ['consumer_lag', 'deliver_processing', 'deliver_waiting', 'sessions']);
    assert.deepEqual(lagOf('outbox-and-cron'), ['notices_oldest_seconds', 'notices_waiting', 'outbox_oldest_seconds', 'outbox_waiting']);
    assert.deepEqual(lagOf('hotgo-admin-api'), ['consumer_lag', 'open_commands', 'outbox_oldest_seconds', 'outbox_waiting']);
    const shown = await underTest().run(['status']);
    assert.match(shown.stdout, /^outbox-and-cron: outbox waiting \d+, outbox oldest seconds \d+, notices waiting/m);
  });

  async function runtime(): Promise<unknown> {
    const report: unknown = JSON.parse((await underTest().run(['status', '--json'])).stdout);
    return isData(report) ? report['runtime'] : undefined;
  }

  /** Names with the sum of their values; a histogram counts as its observations. */
  async function scrape(service: Service): Promise<ReadonlyMap<string, number>> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const socketPath = join(underTest().home, 'run', `${service}-ops.sock`);
    request({ socketPath, path: '/metrics' }, resolve).on('error', reject).end();
    const figures = new Map<string, number>();
    const page = await text(await promise);
    for (const [, name = ''] of page.matchAll(/^# TYPE (\w+) /gm)) figures.set(name, 0);
    for (const [, name = '', value] of page.matchAll(/^(\w+)(?:\{[^}]*\})? (\S+)$/gm)) {
      const base = name.replace(/_count$/, '');
      if (figures.has(base)) figures.set(base, (figures.get(base) ?? 0) + Number(value));
    }
    return figures;
  }
});
