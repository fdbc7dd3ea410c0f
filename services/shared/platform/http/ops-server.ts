import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Part } from '../lifecycle/lifecycle.ts';
import type { Log } from '../log/log.ts';
import { HttpServer } from './http-server.ts';
import type { HttpServerSettings } from './http-server.ts';

/** Something that the process leans on, and how to ask whether it is there. */
export interface Dependency {
  readonly name: string;
  /** Without a required one the process cannot do its main work: `/readyz` is 503. Others only degrade it. */
  readonly required: boolean;
  /** Resolves when the dependency answers. Cut off after `checkTimeoutMs`. */
  check(): Promise<unknown>;
}

export interface OpsSettings {
  /** `unix:/path` or `host:port`, never a public one. */
  readonly listen: string;
  readonly service: string;
  readonly version: string;
  readonly configHash: string;
  /** Default 2,000 ms. */
  readonly checkTimeoutMs?: number;
  readonly socketMode?: number;
}

export interface OpsDeps {
  readonly dependencies: readonly Dependency[];
  readonly metrics: { text(): Promise<string> };
  readonly log: Log;
  /** Figures for people beside the state: lag, queue length, sessions. */
  readonly details?: () => Promise<object>;
}

interface OpsAnswer {
  readonly status: number;
  /** Default JSON. */
  readonly type?: string;
  readonly body: string | object;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Body of `/readyz`. */
export interface Readiness {
  readonly status: 'starting' | 'ready' | 'not_ready' | 'stopping';
  readonly service: string;
  readonly version: string;
  readonly config_hash: string;
  readonly uptime_seconds: number;
  readonly pid: number;
  readonly dependencies: Readonly<
    Record<string, { readonly state: 'up' | 'down'; readonly required: boolean; readonly ms: number; readonly error?: string }>
  >;
  /** Optional dependencies that are away. */
  readonly degraded: readonly string[];
  readonly details: object;
}

/**
 * The door for operators: `/healthz` (alive; asks no dependency), `/readyz` (200 or 503 with the reasons), `/metrics`.
 * It opens first and closes last, so that a process that waits for MySQL can be seen waiting.
 * `/readyz` is 503 until `running()` was called and again after `stopping()`.
 *
 * @see OBS-01 @see OPS-01
 */
export class OpsServer implements Part {
  readonly name = 'ops';
  readonly #server: HttpServer;
  readonly #settings: OpsSettings;
  readonly #deps: OpsDeps;
  readonly #startedAt = performance.now();
  #phase: 'starting' | 'running' | 'stopping' = 'starting';

  constructor(settings: OpsSettings, deps: OpsDeps) {
    this.#settings = settings;
    this.#deps = deps;
    const { listen, socketMode } = settings;
    const door: HttpServerSettings = { name: 'ops', listen, drainMs: 1_000, ...(socketMode === undefined ? {} : { socketMode }) };
    this.#server = new HttpServer(door, (request, response) => {
      this.#handle(request, response).catch((error: unknown) => this.#failed(response, error));
    });
  }

  get address(): string {
    return this.#server.address;
  }

  async start(): Promise<void> {
    await this.#server.start();
  }

  async stop(): Promise<void> {
    this.stopping();
    await this.#server.stop();
  }

  /** Everything behind this process's doors is up. */
  running(): void {
    this.#phase = 'running';
  }

  /** The drain began: nobody should send new work. */
  stopping(): void {
    this.#phase = 'stopping';
  }

  async readiness(): Promise<Readiness> {
    const { service, version, configHash, checkTimeoutMs = 2_000 } = this.#settings;
    const checked = await Promise.all(this.#deps.dependencies.map((dependency) => checkOne(dependency, checkTimeoutMs)));
    const down = checked.filter(({ state }) => state.state === 'down');
    return {
      status: this.#status(down.some(({ state }) => state.required)),
      service,
      version,
      config_hash: configHash,
      uptime_seconds: Math.floor((performance.now() - this.#startedAt) / 1_000),
      pid: process.pid,
      dependencies: Object.fromEntries(checked.map(({ name, state }) => [name, state])),
      degraded: down.filter(({ state }) => !state.required).map(({ name }) => name),
      details: (await this.#deps.details?.()) ?? {},
    };
  }

  #status(lacksRequired: boolean): Readiness['status'] {
    if (this.#phase !== 'running') return this.#phase;
    return lacksRequired ? 'not_ready' : 'ready';
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, type = JSON_TYPE, body } = await this.#answer(request.method, (request.url ?? '/').split('?')[0]);
    send(response, status, type, typeof body === 'string' ? body : `${JSON.stringify(body)}\n`);
  }

  async #answer(method: string | undefined, path: string | undefined): Promise<OpsAnswer> {
    if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: { error: 'only GET' } };
    if (path === '/healthz') return { status: 200, body: { status: 'alive', service: this.#settings.service } };
    if (path === '/metrics') return { status: 200, type: METRICS_TYPE, body: await this.#deps.metrics.text() };
    if (path !== '/readyz') return { status: 404, body: { error: 'there are /healthz, /readyz and /metrics' } };
    const readiness = await this.readiness();
    return { status: readiness.status === 'ready' ? 200 : 503, body: readiness };
  }

  #failed(response: ServerResponse, error: unknown): void {
    this.#deps.log.error({ error: error instanceof Error ? error : new Error(String(error)) }, 'ops request failed');
    if (!response.headersSent) send(response, 500, JSON_TYPE, '{"error":"INTERNAL"}\n');
  }
}

async function checkOne(dependency: Dependency, timeoutMs: number) {
  const { name, required } = dependency;
  const since = performance.now();
  const ms = (): number => Math.round(performance.now() - since);
  try {
    await withDeadline(dependency.check(), timeoutMs);
    return { name, state: { state: 'up' as const, required, ms: ms() } };
  } catch (error) {
    return { name, state: { state: 'down' as const, required, ms: ms(), error: error instanceof Error ? error.message : String(error) } };
  }
}

async function withDeadline(work: Promise<unknown>, ms: number): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
