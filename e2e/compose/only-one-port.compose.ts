import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { holderOf, listeningInodes } from '#scripts/servers/port-holder.ts';
import { underTest } from '../people.ts';
import { addressOn, compose, docker } from './containers.ts';
import { openPorts, range } from './port-scan.ts';

const ALL = 65_535;
/** Addresses beside the one that clients use are scanned where servers are usually found. */
const USUAL = 10_500;
const SERVERS = {
  mysql: [3306, 33060],
  redis: [6379],
  kafka: [9092, 9093],
  'im-core': [8080, 9000, 9100],
  'hotgo-admin-api': [8080, 9100],
};

describe('from another network', function () {
  this.timeout(300_000);
  const publicPort = (): number => Number(underTest().connect.split(':').at(-1));

  it('only the published port of the machine answers, on every address, IPv4 and IPv6 (T9, NET-01, ACC-20)', async () => {
    const addresses = machineAddresses();
    const used = underTest().connect.split(':')[0] ?? '';
    assert.ok(addresses.includes(used), `${used} is no address of ${addresses.join(' ')}`);
    assert.ok(addresses.some(isIPv6) || (await readFile('/proc/net/if_inet6', 'utf8').catch(() => '')) === '');
    for (const address of addresses) {
      const isFull = address === used || address.startsWith('fd77:');
      // Looked at twice: other programs of the machine come and go.
      const open = await openPorts(address, await openPorts(address, isFull ? range(1, ALL) : [...range(1, USUAL), publicPort()]));
      const ours = await Promise.all(open.map(async (port) => ({ port, isOther: await isOfAnotherProgram(port) })));
      const found = ours.filter(({ isOther }) => !isOther).map(({ port }) => port);
      // The bridge of the network without a way out answers nobody, not even there.
      if (isFull || found.length > 0) assert.deepEqual(found, [publicPort()], address);
    }
  });

  it('no server and no inner door of a container answers at its own address (INV-16)', async () => {
    for (const [service, ports] of Object.entries(SERVERS)) {
      assert.deepEqual(await openPorts(await addressOn('inside', service), ports), [], service);
    }
  });
});

/** We run in a namespace beside the machine; whoever started us does not. */
const MACHINE = `/proc/${process.ppid}`;

/** Addresses of the machine itself. */
function machineAddresses(): readonly string[] {
  const text = execFileSync('nsenter', [`--net=${MACHINE}/ns/net`, '--', 'ip', '-oneline', 'address', 'show'], { encoding: 'utf8' });
  return text
    .split('\n')
    .flatMap((line) => / inet6? ([0-9a-f.:]+)\/\d+ .*scope global/.exec(line)?.[1] ?? [])
    .filter((address) => !address.startsWith('127.'));
}

/** A port that another program of the machine holds. What Docker publishes is held by its proxy, or by nobody. */
async function isOfAnotherProgram(port: number): Promise<boolean> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`${MACHINE}/net/${name}`, 'utf8').catch(() => '')));
  const inodes = new Set(tables.flatMap((table) => listeningInodes(table, port)));
  return inodes.size > 0 && (await holderOf(inodes))?.startsWith('docker-proxy') !== true;
}

describe('inside the network of the containers', () => {
  it('the gateway takes nothing from anybody but nginx, and counts it (T9 d)', async () => {
    const before = await missing();
    const said = await inRedis('exec 3<>/dev/tcp/im-core/9000; timeout 5 cat <&3 | wc -c');
    assert.equal(said.trim(), '0');
    assert.ok((await missing()) > before);
  });

  it('nobody has a way out', async () => {
    const { clients } = underTest();
    await assert.rejects(inRedis(`exec timeout 5 bash -c 'exec 3<>/dev/tcp/${clients[0]}/22'`));
  });

  const inRedis = (script: string): Promise<string> => compose('exec', '--no-TTY', 'redis', 'bash', '-c', script);

  /** Connections that came without a real IP. */
  async function missing(): Promise<number> {
    const script = "fetch('http://127.0.0.1:9100/metrics').then(async (answer) => console.log(await answer.text()))";
    const text = await compose('exec', '--no-TTY', 'im-core', 'node', '-e', script);
    return [...text.matchAll(/^realip_missing_total\S* (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  }
});

describe('the containers', () => {
  it('are all healthy by what they say themselves (T9 f)', async () => {
    const { code, stdout } = await underTest().run(['status']);
    assert.equal(code, 0, stdout);
  });

  it('cannot be written to outside their data', async () => {
    for (const service of ['mysql', 'redis', 'kafka', 'nginx', 'im-core', 'outbox-and-cron', 'hotgo-admin-api']) {
      for (const path of ['/etc/passwd', '/usr/new', '/appliance/rendered/new'])
        await assert.rejects(compose('exec', '--no-TTY', service, 'bash', '-c', `echo x >> ${path}`), service);
    }
  });

  it('show no secret to who looks at them (I1)', async () => {
    const files = execFileSync('find', [`${underTest().home}/state`, '-type', 'f', '-not', '-name', '*.pem', '-not', '-name', 'runtime'], {
      encoding: 'utf8',
    });
    const secrets = await Promise.all(
      files
        .trimEnd()
        .split('\n')
        .map(async (file) => (await readFile(file, 'utf8')).trim()),
    );
    assert.ok(secrets.length > 30);
    const ids = (await compose('ps', '--all', '--quiet')).split('\n');
    const shown = [await docker('inspect', ...ids), await compose('logs')];
    for (const text of shown) assert.ok(!secrets.some((secret) => text.includes(secret)));
  });
});
