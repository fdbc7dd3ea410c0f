import assert from 'node:assert/strict';
import { eventually } from '#shared/testing/wait.ts';
import type { PartSpec } from './part.ts';
import { startServer } from './server.ts';
import { Supervisor } from './supervisor.ts';
import type { ApplianceStatus, Plan } from './supervisor.ts';

/** A part that says it is up and then waits; it is as healthy as `isHealthy` says. */
function part(name: string, events: string[], isHealthy: () => boolean = () => true): PartSpec {
  return {
    name,
    start: async (onLine, stopping) => {
      events.push(`start ${name}`);
      const script = `process.on('SIGTERM', () => { console.log('drained'); process.exit(0); }); console.log('up'); setInterval(() => 1, 1e6);`;
      const server = await startServer({
        name,
        command: process.execPath,
        args: ['--eval', script],
        onLine: (line) => {
          if (line === 'drained') events.push(`drained ${name}`);
          onLine(line);
        },
        isReady: (lines) => lines.includes('up'),
        stopping,
      });
      return server;
    },
    health: () => Promise.resolve(isHealthy() ? { version: '1' } : undefined),
  };
}

function planOf(events: string[], changes: Partial<Plan> = {}): Plan {
  return {
    configHash: 'one',
    servers: [{ ...part('store', events), fingerprint: 'a' }],
    migrateDatabases: () => Promise.resolve(void events.push('databases')),
    migrateTopics: () => Promise.resolve(void events.push('topics')),
    isMigrated: false,
    services: [part('service', events)],
    doors: [part('door', events)],
    ...changes,
  };
}

describe('the supervisor', () => {
  let events: string[];
  let plan: Plan;
  let supervisor: Supervisor;
  beforeEach(() => {
    events = [];
    plan = planOf(events);
    supervisor = new Supervisor({ plan: () => Promise.resolve(plan), logOf: () => () => undefined });
  });
  afterEach(() => supervisor.stop());

  const healthy = (): Promise<ApplianceStatus> =>
    eventually(() => supervisor.status().isHealthy && supervisor.status(), { what: 'a healthy appliance' });
  const pidOf = (name: string): number => supervisor.status().parts.find((one) => one.name === name)?.pid ?? 0;

  it('starts servers, schema, services and door in this order', async () => {
    supervisor.start();
    await healthy();
    assert.deepEqual(events, ['start store', 'topics', 'databases', 'start service', 'start door']);
  });

  it('starts again what was killed, and nothing else', async () => {
    supervisor.start();
    await healthy();
    const [killed, other] = [pidOf('service'), pidOf('store')];
    process.kill(killed, 'SIGKILL');
    await eventually(() => pidOf('service') !== killed && pidOf('service') !== 0, { what: 'a new process' });
    await healthy();
    assert.equal(pidOf('store'), other);
    const restarts = supervisor.status().parts.map(({ name, restarts: count }) => [name, count]);
    assert.deepEqual(restarts, [
      ['store', 0],
      ['service', 1],
      ['door', 0],
    ]);
  });

  it('lets services drain before it ends the servers', async () => {
    supervisor.start();
    await healthy();
    events.length = 0;
    await supervisor.stop();
    assert.equal(events.at(-1), 'drained store');
    assert.deepEqual(events.slice(0, 2).sort(), ['drained door', 'drained service']);
  });

  it('tells an unhealthy part from a dead one and leaves it alone', async () => {
    let isHealthy = true;
    plan = planOf(events, { services: [part('service', events, () => isHealthy)] });
    supervisor.start();
    await healthy();
    const pid = pidOf('service');
    isHealthy = false;
    await eventually(() => supervisor.status().parts.some(({ state }) => state === 'unhealthy'), { what: 'an unhealthy part' });
    isHealthy = true;
    await healthy();
    assert.equal(pidOf('service'), pid);
  });

  it('says why a part does not start and goes on trying', async () => {
    plan = planOf(events, { doors: [{ ...part('door', events), start: () => Promise.reject(new Error('port taken')) }] });
    supervisor.start();
    const door = await eventually(() => supervisor.status().parts.find(({ name, restarts }) => name === 'door' && restarts > 1), {
      what: 'tries',
    });
    assert.equal(door.problem, 'port taken');
  });

  it('waits for the topics of a new configuration, but starts services of a known one without Kafka', async () => {
    let tries = 0;
    const migrateTopics = (): Promise<void> => {
      tries += 1;
      return Promise.reject(new Error('Kafka is away'));
    };
    plan = planOf(events, { migrateTopics });
    supervisor.start();
    await eventually(() => tries > 1, { what: 'a second try' });
    assert.equal(supervisor.status().phase, 'migrating');
    assert.equal(supervisor.status().problem, 'Kafka is away');
    const away = { ...part('kafka', events, () => false), fingerprint: 'b', isOptional: true };
    plan = planOf(events, { migrateTopics, isMigrated: true, servers: [...plan.servers, away] });
    await supervisor.apply();
    await eventually(() => supervisor.status().phase === 'running', { what: 'running services' });
  });

  it('does one thing at a time: two changes at once leave one process of each part', async () => {
    supervisor.start();
    await healthy();
    await Promise.all([supervisor.apply(), supervisor.apply()]);
    await healthy();
    await supervisor.stop();
    const count = (event: string): number => events.filter((one) => one === event).length;
    assert.equal(count('start service'), count('drained service'));
    assert.equal(count('start door'), count('drained door'));
  });

  it('starts nothing any more when it is stopped during a change', async () => {
    supervisor.start();
    await healthy();
    const applied = supervisor.apply();
    await Promise.all([applied, supervisor.stop()]);
    await supervisor.apply();
    assert.deepEqual([supervisor.status().phase, supervisor.status().parts], ['stopping', []]);
    assert.equal(events.filter((one) => one === 'start store').length, events.filter((one) => one === 'drained store').length);
  });

  it('goes on trying when it cannot even plan', async () => {
    let failures = 1;
    supervisor = new Supervisor({
      plan: () => ((failures -= 1) < 0 ? Promise.resolve(plan) : Promise.reject(new Error('no server root'))),
      logOf: () => () => undefined,
    });
    supervisor.start();
    await eventually(() => supervisor.status().problem === 'no server root', { what: 'the reason' });
    await healthy();
  });

  it('starts anew only the servers whose settings changed', async () => {
    const servers = (fingerprint: string): Plan['servers'] => [
      { ...part('store', events), fingerprint: 'a' },
      { ...part('queue', events), fingerprint },
    ];
    plan = planOf(events, { servers: servers('old') });
    supervisor.start();
    await healthy();
    const [store, queue, service] = [pidOf('store'), pidOf('queue'), pidOf('service')];
    plan = planOf(events, { servers: servers('new'), configHash: 'two' });
    await supervisor.apply();
    const { configHash } = await healthy();
    assert.equal(configHash, 'two');
    assert.equal(pidOf('store'), store);
    assert.notEqual(pidOf('queue'), queue);
    assert.notEqual(pidOf('service'), service);
  });
});
