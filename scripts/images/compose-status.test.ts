import assert from 'node:assert/strict';
import { statusOf } from './compose-status.ts';
import type { Container } from './compose-status.ts';

const RUNNING = ['mysql', 'redis', 'kafka', 'im-core', 'outbox-and-cron', 'hotgo-admin-api', 'nginx'];
const READY = JSON.stringify({ status: 'ready', version: '0.1.0', config_hash: 'abc', degraded: ['kafka'], details: {} });

function container(name: string, state: Partial<Container['State']> = {}): Container {
  const isService = name.includes('-');
  return {
    Id: name,
    RestartCount: 2,
    State: {
      Status: 'running',
      Pid: 42,
      ExitCode: 0,
      StartedAt: '2027-01-01T00:00:00Z',
      Health: { Status: 'healthy', Log: [{ Output: isService ? READY : '' }] },
      ...state,
    },
    Config: { Image: isService ? 'im-appliance:0.1.0' : `${name}:9.8.7`, Labels: {} },
  };
}

const all = (changed: Readonly<Record<string, Container | undefined>> = {}): ReadonlyMap<string, Container> =>
  new Map(
    RUNNING.flatMap((name): [string, Container][] => {
      const found = name in changed ? changed[name] : container(name);
      return found === undefined ? [] : [[name, found]];
    }),
  );

describe('the status of containers', () => {
  it('is healthy when every part is, with what a service says of itself', () => {
    const { isHealthy, configHash, problem, parts } = statusOf(all());
    assert.deepEqual([isHealthy, configHash, problem], [true, 'abc', undefined]);
    assert.deepEqual(
      parts.map(({ name }) => name),
      RUNNING,
    );
    const [mysql, , , core] = parts;
    assert.deepEqual([mysql?.state, mysql?.health?.version, mysql?.pid, mysql?.restarts], ['ready', '9.8.7', 42, 2]);
    assert.deepEqual([core?.health?.version, core?.health?.degraded], ['0.1.0', ['kafka']]);
  });

  it('is not when a part is missing, starts, restarts, is paused, has ended or says so itself', () => {
    const health = (Status: string): Container => container('redis', { Health: { Status, Log: null } });
    const cases: readonly (readonly [Container | undefined, string])[] = [
      [undefined, 'stopped'],
      [health('starting'), 'starting'],
      [health('unhealthy'), 'unhealthy'],
      [container('redis', { Status: 'restarting', Pid: 0 }), 'waiting'],
      [container('redis', { Status: 'paused' }), 'unhealthy'],
      [container('redis', { Status: 'exited', Pid: 0, ExitCode: 137 }), 'stopped'],
    ];
    for (const [redis, expected] of cases) {
      const { isHealthy, parts } = statusOf(all({ redis }));
      assert.deepEqual([isHealthy, parts.find(({ name }) => name === 'redis')?.state], [false, expected]);
    }
  });

  it('names a one-shot that failed', () => {
    const containers = new Map([...all(), ['migrate', container('migrate', { Status: 'exited', ExitCode: 1 })]]);
    assert.equal(statusOf(containers).problem, 'migrate ended with exit code 1');
  });
});
