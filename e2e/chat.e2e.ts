import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually, within } from '#shared/testing/wait.ts';
import { underTest } from './people.ts';

const PROGRAM = resolve(import.meta.dirname, '../scripts/appliance');

describe('chat', () => {
  let directory: string;
  const terminals: Terminal[] = [];

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ima-chat-'));
    await writeFile(join(directory, 'password'), 'a password for two\n');
  });

  after(async () => {
    for (const terminal of terminals) terminal.child.kill('SIGKILL');
    await rm(directory, { recursive: true });
  });

  it('lets two new people become friends and talk', async () => {
    const suffix = crypto.randomUUID().slice(0, 8);
    const [ann, ben] = [`ann-${suffix}`, `ben-${suffix}`];
    const [left, right] = [await sit(ann), await sit(ben)];
    left.type(`/friend ${ben}`);
    await left.shows(`asked ${ben}`);
    right.type(`/friend ${ann}`);
    await right.shows(`you and ${ann} are friends`);
    left.type(`/open ${ben}`);
    right.type(`/open ${ann}`);
    await right.shows(`--- ${ann}`);
    await left.shows(`--- ${ben}`);
    left.type('good morning 🌞');
    await left.shows('me: good morning 🌞  ✓');
    await right.shows(`${ann}: good morning 🌞`);
    right.type('and to you');
    await left.shows(`${ben}: and to you`);
    left.type('/list');
    await left.shows(`1  ${ben}`);
    for (const terminal of [left, right]) {
      const exit = once(terminal.child, 'exit');
      terminal.type('/quit');
      assert.deepEqual((await within(exit, { what: 'the end' }))[0], 0);
    }
  });

  it('tells a wrong password from a new name', async () => {
    const name = `eve-${crypto.randomUUID().slice(0, 8)}`;
    const first = await sit(name);
    first.type('/quit');
    await once(first.child, 'exit');
    const other = join(directory, 'other');
    await writeFile(other, 'another password\n');
    const { code, stderr } = await underTest().run(['chat', '--user', name, '--password-file', other, '--connect', underTest().connect]);
    assert.equal(code, 1);
    assert.match(stderr, /wrong password/);
  });

  async function sit(name: string): Promise<Terminal> {
    const { home, file, connect } = underTest();
    const words = [
      'chat',
      '--user',
      name,
      '--password-file',
      join(directory, 'password'),
      '--home',
      home,
      '--file',
      file,
      '--connect',
      connect,
    ];
    const terminal = new Terminal(spawn(PROGRAM, words));
    terminals.push(terminal);
    await terminal.shows(`You are ${name}`);
    return terminal;
  }
});

class Terminal {
  readonly child: ChildProcessWithoutNullStreams;
  #text = '';

  constructor(child: ChildProcessWithoutNullStreams) {
    this.child = child;
    child.stdout.on('data', (chunk: Buffer) => (this.#text += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (this.#text += chunk.toString()));
  }

  type(line: string): void {
    this.child.stdin.write(`${line}\n`);
  }

  async shows(text: string): Promise<void> {
    try {
      await eventually(() => this.#text.includes(text), { what: `"${text}"`, deadlineMs: 20_000 });
    } catch (error) {
      throw new Error(`the terminal shows:\n${this.#text}`, { cause: error });
    }
  }
}
