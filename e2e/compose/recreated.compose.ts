import assert from 'node:assert/strict';
import { COMMANDS } from '#shared/contract/commands.ts';
import { eventually } from '#shared/testing/wait.ts';
import { ImConnection } from '#client/im-connection.ts';
import { Person, underTest } from '../people.ts';
import { addressOn, compose, containerOf, docker, inspect, nameOf } from './containers.ts';

/** How soon a new address must be known. */
const SOON_MS = 5_000;

describe('containers that are made anew (T10)', function () {
  this.timeout(240_000);
  let intruder: string | undefined;

  afterEach(async () => {
    if (intruder !== undefined) await docker('rm', '--force', '--volumes', intruder);
    intruder = undefined;
    await compose('up', '--detach', '--wait', '--no-deps', 'im-core', 'nginx');
  });

  it('im-core with another address: nginx goes on and finds it within 5 s, and nobody sees an error after that', async () => {
    const before = { address: await addressOn('inside', 'im-core'), nginx: await inspect('nginx', '{{.State.StartedAt}}') };
    const person = await Person.register();
    await compose('rm', '--stop', '--force', 'im-core');
    intruder = await takeAddress(before.address);
    await compose('up', '--detach', '--wait', '--no-deps', 'im-core');
    assert.notEqual(await addressOn('inside', 'im-core'), before.address);
    await eventually(() => canTalk(person), { what: 'a new connection', deadlineMs: SOON_MS });
    for (let turn = 0; turn < 50; turn += 1) {
      await underTest().appliance.api.me(person.token);
      assert.ok(await canTalk(person));
    }
    assert.equal(await inspect('nginx', '{{.State.StartedAt}}'), before.nginx);
    assert.equal(await inspect('nginx', '{{.RestartCount}}'), '0');
  });

  it('nginx before im-core: it is up, refuses what im-core would answer, serves the rest, and finds im-core when it comes', async () => {
    const person = await Person.register();
    await compose('rm', '--stop', '--force', 'im-core', 'nginx');
    await compose('up', '--detach', '--wait', '--no-deps', 'nginx');
    const { appliance } = underTest();
    await assert.rejects(ImConnection.open(appliance.im));
    await assert.rejects(appliance.api.me(person.token));
    assert.ok(await appliance.admin.login(await underTest().admin()));
    await compose('up', '--detach', '--wait', '--no-deps', 'im-core');
    await eventually(() => canTalk(person), { what: 'a connection', deadlineMs: SOON_MS });
    assert.equal(await inspect('nginx', '{{.RestartCount}}'), '0');
  });

  it('a part that is killed comes back by itself, and then the whole road is open again', async () => {
    for (const part of ['nginx', 'redis', 'mysql', 'kafka', 'outbox-and-cron', 'hotgo-admin-api']) await underTest().kill(part);
    const smoke = ['smoke', '--connect', underTest().connect];
    await eventually(async () => (await underTest().run(smoke)).code === 0, { what: 'smoke to pass', deadlineMs: 90_000 });
  });
});

/** Another container that has the address from now on. */
async function takeAddress(address: string): Promise<string> {
  const image = await docker('inspect', '--format', '{{.Config.Image}}', await containerOf('redis'));
  const place = ['--network', await nameOf('inside'), '--ip', address];
  return docker('run', '--detach', '--rm', '--init', ...place, '--entrypoint', 'sleep', image, '600');
}

async function canTalk(person: Person): Promise<boolean> {
  const connection = await ImConnection.open(underTest().appliance.im);
  try {
    await connection.request(COMMANDS.AUTH, { token: person.token, device_id: '1', platform: 'e2e' });
    return true;
  } finally {
    await connection.close();
  }
}
