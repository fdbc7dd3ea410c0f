import assert from 'node:assert/strict';
import { buildCommandResult, buildEnvelope, newId } from '#shared/contract/envelope.ts';
import type { CommandResult, Envelope } from '#shared/contract/envelope.ts';
import { appendOutbox, openOutbox } from '#shared/platform/events/outbox.ts';
import { noWake } from '#shared/platform/events/wake.ts';
import { openKafka } from '#shared/platform/kafka/client.ts';
import { KafkaProducer } from '#shared/platform/kafka/producer.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import { silentLog } from '#shared/platform/log/log.ts';
import type { Database } from '#shared/platform/mysql/database.ts';
import { freshDatabase } from '#shared/testing/database-per-test.ts';
import type { FreshDatabase } from '#shared/testing/database-per-test.ts';
import { freshTopics } from '#shared/testing/kafka.ts';
import type { FreshTopics } from '#shared/testing/kafka.ts';
import { eventually } from '#shared/testing/wait.ts';
import { applyResult, markRunning, resendOverdue } from '../domain/command/ledger.ts';
import { adminRelay } from '../relay/admin-relay.ts';
import { tenantAnswers } from './tenant-answers.ts';

const KEYS = new Map([
  ['hotgo-admin-api', Buffer.from('a'.repeat(32))],
  ['outbox-and-cron', Buffer.from('b'.repeat(32))],
]);
const MINUTE_MS = 60_000;

describe('ledger of orders', function () {
  this.timeout(60_000);
  let hotgo: FreshDatabase;
  let topics: FreshTopics;
  let db: Database;
  const outbox = openOutbox('admin_outbox', noWake);

  before(async () => {
    [hotgo, topics] = await Promise.all([
      freshDatabase('hotgo'),
      freshTopics(['im.admin.command', 'im.admin.command.result', 'im.audit.event']),
    ]);
    db = hotgo.openModels(); // As the service uses it.
  });
  after(() => Promise.all([hotgo.drop(), topics.remove()]));

  async function order(): Promise<Envelope> {
    const envelope = buildEnvelope({
      tenant_code: 'default',
      source_service: 'hotgo-admin',
      target_service: 'im-server',
      event_type: 'group.member.mute',
      biz_type: 'group',
      biz_id: 'grp7',
      actor: { type: 'admin', id: 'admin_12', display_name: 'Ann' },
      payload: { command_id: newId('cmd'), user_id: 'usr2' },
    });
    await db.transaction(async (tx) => {
      await tx.change(
        `INSERT INTO admin_command (tenant_code, command_id, fingerprint, event_id, event_type, biz_type, biz_id, envelope, next_resend_at,
                                    operator_id, operator_name, trace_id, created_at, updated_at)
         VALUES ('default', ?, '', ?, 'group.member.mute', 'group', 'grp7', '{}', ?, 12, 'Ann', ?, NOW(3), NOW(3))`,
        [String(envelope.payload['command_id']), envelope.event_id, new Date(Date.now() + 2 * MINUTE_MS), envelope.trace_id],
      );
      await appendOutbox(tx, outbox, { topic: topics.topic('im.admin.command'), orderKey: 'default:grp7', envelope });
    });
    return envelope;
  }

  function answer({ tenant_code, trace_id, event_id, payload }: Envelope, fields: Partial<CommandResult> = {}): CommandResult {
    const command = { tenant_code, trace_id, command_id: String(payload['command_id']), command_event_id: event_id };
    return { ...buildCommandResult({ ...command, status: 'succeeded', reason: '', message: '', result: { version: 2 } }), ...fields };
  }
  const apply = (result: CommandResult) => db.transaction((tx) => applyResult(tx, result));

  async function row({ event_id }: Envelope) {
    const [found] = await db.select<{
      status: string;
      reason: Buffer;
      result: Buffer | null;
      attempts: number;
      next_resend_at: Date | null;
    }>('SELECT status, reason, result, attempts, next_resend_at FROM admin_command WHERE event_id = ?', [event_id]);
    assert.ok(found !== undefined);
    return { ...found, reason: found.reason.toString() };
  }

  it('goes from pending to running to its end, and never back (CMD-12, CMD-19)', async () => {
    const envelope = await order();
    assert.equal((await row(envelope)).status, 'pending');
    await markRunning(db, [envelope.event_id]);
    assert.equal((await row(envelope)).status, 'running');
    assert.equal(await apply(answer(envelope, { status: 'failed', reason: 'GROUP_VERSION_CONFLICT' })), 'ended');
    assert.equal(await apply(answer(envelope)), 'late');
    await markRunning(db, [envelope.event_id]);
    const ended = await row(envelope);
    assert.deepEqual([ended.status, ended.reason, ended.next_resend_at], ['failed', 'GROUP_VERSION_CONFLICT', null]);
  });

  it('is ended by the answer to its own event alone, whatever the command id says (X-12)', async () => {
    const envelope = await order();
    assert.equal(
      await apply(answer(envelope, { command_event_id: 'evt_other', status: 'failed', reason: 'COMMAND_DUPLICATED' })),
      'unknown',
    );
    assert.equal((await row(envelope)).status, 'pending');
    assert.equal(await apply(answer(envelope, { command_id: '', status: 'dead', reason: 'INVALID_ARGUMENT' })), 'ended');
    const other = await order();
    assert.equal(await apply(answer(other, { command_event_id: '' })), 'ended');
  });

  it('sends an order without a result again after two minutes, then four, the original envelope (B17)', async () => {
    const [silent, ended] = [await order(), await order()];
    await db.change(`UPDATE admin_outbox SET status = 'sent'`);
    await apply(answer(ended));
    let nowMs = Date.now() + 3 * MINUTE_MS;
    const resend = () => resendOverdue({ db, outbox, nowMs: () => nowMs }, 10);
    const queued = async () =>
      (await db.select<{ event_id: Buffer }>(`SELECT event_id FROM admin_outbox WHERE status = 'pending'`)).map((one) =>
        one.event_id.toString(),
      );
    assert.equal(await resend(), 1);
    assert.deepEqual(await queued(), [silent.event_id]);
    assert.equal((await row(silent)).attempts, 2);
    assert.equal(await resend(), 0);
    nowMs += 3 * MINUTE_MS;
    assert.equal(await resend(), 0);
    nowMs += 2 * MINUTE_MS;
    assert.equal(await resend(), 1);
    assert.equal((await row(silent)).attempts, 3);
    await apply(answer(silent));
  });

  it('sends an order again that the broker refused for good: what it could not take then, it may take now', async () => {
    const refused = await order();
    await db.change(`UPDATE admin_outbox SET status = 'dead' WHERE event_id = ?`, [refused.event_id]);
    await resendOverdue({ db, outbox, nowMs: () => Date.now() + 3 * MINUTE_MS }, 10);
    const [queued] = await db.select<{ status: string }>('SELECT status FROM admin_outbox WHERE event_id = ?', [refused.event_id]);
    assert.equal(queued?.status, 'pending');
    await apply(answer(refused));
  });

  it('hears results and audit events over Kafka, once each (CMD-10, CMD-11, AUD-06)', async () => {
    await db.change('DELETE FROM admin_outbox');
    const kafka = openKafka({ brokers: topics.brokers, clientId: 'test' });
    const writer = (service: string): KafkaProducer => new KafkaProducer(kafka, { service, key: KEYS.get(service) ?? Buffer.alloc(0) });
    const [ours, tenants] = [writer('hotgo-admin-api'), writer('outbox-and-cron')];
    const relay = adminRelay(
      { db, producer: ours, log: silentLog, onTaken: (ids) => markRunning(db, ids) },
      { leaseDatabase: hotgo.name, owner: 'test', batch: 10, pollMs: 20, retryBackoffMs: [100] },
    );
    const answers = tenantAnswers(
      { kafka, keys: KEYS, db, tenants: ['default'], log: silentLog },
      { retryBackoffMs: [100], maxRetryCount: 2, prefix: topics.prefix },
    );
    const parts: Part[] = [ours, tenants, relay, answers];
    for (const part of parts) await part.start();
    const envelope = await order();
    await eventually(async () => (await row(envelope)).status === 'running', { what: 'the order on its way' });
    const audit = {
      ...envelope,
      event_id: newId('evt'),
      source_service: 'im-server',
      version: 2,
      payload: { ...envelope.payload, outcome: 'succeeded' },
    };
    const record = (topic: string, value: object) => ({
      topic: topics.topic(topic),
      key: 'k',
      value: Buffer.from(JSON.stringify(value)),
      traceId: envelope.trace_id,
    });
    const result = answer(envelope);
    await tenants.send([record('im.admin.command.result', result), record('im.audit.event', audit)]);
    await tenants.send([record('im.admin.command.result', result), record('im.audit.event', audit)]);
    await tenants.send([
      record('im.admin.command.result', answer(envelope, { tenant_code: 'nobody' })),
      record('im.admin.command.result', answer(envelope, { command_event_id: 'evt_x' })),
    ]);
    await eventually(async () => (await row(envelope)).status === 'succeeded', { what: 'the end of the order' });
    await eventually(async () => (await db.select('SELECT id FROM admin_kafka_quarantine')).length === 1, {
      what: 'the quarantined result',
    });
    const logged = await eventually(
      async () => {
        const rows = await db.select<{ status: string }>('SELECT status FROM admin_kafka_consume_log ORDER BY status');
        return rows.length === 3 ? rows.map(({ status }) => status) : undefined;
      },
      { what: 'three consumed events' },
    );
    assert.deepEqual(logged, ['succeeded', 'succeeded', 'dead']);
    const audits = await db.select<{ admin_id: string; admin_name: string; action: Buffer; object: Buffer; trace_id: Buffer }>(
      `SELECT admin_id, admin_name, action, object, trace_id FROM admin_audit_log`,
    );
    assert.deepEqual(
      audits.map((one) => [one.admin_id, one.admin_name, one.action.toString(), one.object.toString(), one.trace_id.toString()]),
      [['12', 'Ann', 'group.member.mute', 'grp7', envelope.trace_id]],
    );
    for (const part of parts.reverse()) await part.stop();
  });
});
