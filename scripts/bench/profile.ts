import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Where V8's inspector of a process that got SIGUSR1 listens. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list';
const SAMPLE_EVERY_MICROSECONDS = 500;

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
}

/** A CPU profile of a running Node process, without starting it anew. */
export class Profiler {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { id?: number; result: unknown };
      if (id !== undefined) this.#waiting.get(id)?.(result);
    });
  }

  /** Opens the process's inspector, which listens on 127.0.0.1 alone. @throws {Error} when another process has the port */
  static async open(pid: number): Promise<Profiler> {
    if ((await inspectorUrl()) !== undefined) throw new Error('another process listens on the inspector port 9229');
    process.kill(pid, 'SIGUSR1');
    for (let tries = 0; tries < 50; tries += 1) {
      const url = await inspectorUrl();
      if (url !== undefined) return new Profiler(await openSocket(url));
      await pause(100);
    }
    throw new Error(`process ${pid} did not open its inspector`);
  }

  async start(): Promise<void> {
    await this.#ask('Profiler.enable');
    await this.#ask('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_MICROSECONDS });
    await this.#ask('Profiler.start');
  }

  /** Writes the profile, in the form that browsers and editors open. @returns where the time went, one line a function */
  async stop(file: string, lines: number): Promise<readonly string[]> {
    const { profile } = (await this.#ask('Profiler.stop')) as { profile: CpuProfile };
    await writeFile(file, JSON.stringify(profile));
    return topOf(profile, lines);
  }

  close(): void {
    this.#socket.close();
  }

  async #ask(method: string, params: object = {}): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    return answer;
  }
}

async function inspectorUrl(): Promise<string | undefined> {
  const response = await fetch(INSPECTOR).catch(() => undefined);
  const [target] = ((await response?.json()) ?? []) as { webSocketDebuggerUrl: string }[];
  return target?.webSocketDebuggerUrl;
}

async function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('the inspector did not answer')));
  });
  return socket;
}

/** Functions by the time that they took themselves, not counting whom they called. */
function topOf({ nodes, samples }: CpuProfile, lines: number): readonly string[] {
  const names = new Map(nodes.map((node) => [node.id, nameOf(node)]));
  const counts = new Map<string, number>();
  for (const sample of samples) {
    const name = names.get(sample) ?? '?';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, lines)
    .map(([name, count]) => `${((count / samples.length) * 100).toFixed(1).padStart(5)} %  ${name}`);
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${basename(url)}:${lineNumber + 1}`;
}
