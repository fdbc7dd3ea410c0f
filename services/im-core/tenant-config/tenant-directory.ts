import { EventEmitter } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Counter, Gauge } from 'prom-client';
import { Refusal } from '#shared/contract/reasons.ts';
import { isNotLower } from '#shared/contract/tenant-config.ts';
import type { TenantConfig } from '#shared/contract/tenant-config.ts';
import type { Part } from '#shared/platform/lifecycle/lifecycle.ts';
import type { Log } from '#shared/platform/log/log.ts';
import type { Metrics } from '#shared/platform/metrics/metrics.ts';
import type { TenantCache } from './tenant-cache.ts';

export interface TenantDirectoryDeps {
  /** Asks the back office. @throws when it is away */
  readonly ask: () => Promise<readonly TenantConfig[]>;
  readonly cache: Pick<TenantCache, 'load' | 'store'>;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface TenantDirectorySettings {
  /** From one answer to the next question (ms). */
  readonly pollMs: number;
  /** After a question without an answer; doubled up to `pollMs`. */
  readonly firstRetryMs: number;
}

/** Below the half minute within which a closed tenant has to be refused, with room for the answer. */
export const TENANT_POLL: TenantDirectorySettings = { pollMs: 25_000, firstRetryMs: 500 };

/**
 * What the back office says about the tenants of this appliance. Tenants come from the rendered settings and are served from the first
 * moment; the directory only learns that one of them is closed: at the start from the copy in Redis, then by asking hotgo-admin-api, again
 * and again. A value takes the place of another only when its `config_version` is not lower. Nobody answers: what is known stays in force,
 * and the process is degraded. The hotgo database is never opened.
 *
 * Emits `asked` (whether there was an answer) after each question, and `closed` (tenant code) when a tenant ceases to be served.
 *
 * @see ACC-07 @see CFG-43 @see CFG-45 @see X-13
 */
export class TenantDirectory extends EventEmitter<{ asked: [boolean]; closed: [string] }> implements Part {
  readonly name = 'tenant directory';
  readonly #deps: TenantDirectoryDeps;
  readonly #settings: TenantDirectorySettings;
  readonly #known = new Map<string, TenantConfig>();
  readonly #stale: Gauge;
  readonly #failed: Counter;
  readonly #stopping = new AbortController();
  #isFresh = false;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: TenantDirectoryDeps, settings: TenantDirectorySettings = TENANT_POLL) {
    super();
    this.#deps = deps;
    this.#settings = settings;
    this.#stale = deps.metrics.gauge('tenant_config_stale', '1 while the back office does not answer and the last good copy is in force.');
    this.#failed = deps.metrics.counter('tenant_config_failed_total', 'Questions to the back office that got no answer.');
    this.#stale.set(1);
  }

  /** Resolves when the cached copy is in force, or cannot be read; the back office is asked from then on. */
  async start(): Promise<void> {
    const cached = await this.#deps.cache.load().catch((error: unknown) => {
      this.#deps.log.warn({ error: asError(error) }, 'no copy of the tenant configuration');
      return [];
    });
    for (const tenant of cached) this.#take(tenant);
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Whether the last question was answered. */
  get isFresh(): boolean {
    return this.#isFresh;
  }

  /** @throws {Refusal} TENANT_DISABLED. A tenant that nobody has said anything about is served. */
  assertActive(code: string): void {
    const state = this.#known.get(code)?.state ?? 'active';
    if (state !== 'active') throw new Refusal('TENANT_DISABLED', 'this tenant is closed', { state });
  }

  async #run(): Promise<void> {
    const { pollMs, firstRetryMs } = this.#settings;
    for (let failures = 0; !this.#stopping.signal.aborted;) {
      failures = (await this.#ask()) ? 0 : failures + 1;
      const waitMs = failures === 0 ? pollMs : Math.min(firstRetryMs * 2 ** (failures - 1), pollMs);
      await pause(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }

  async #ask(): Promise<boolean> {
    const { ask, cache, log } = this.#deps;
    let isAnswered = false;
    try {
      const tenants = await ask();
      isAnswered = true;
      for (const tenant of tenants) this.#take(tenant);
      await cache.store(tenants).catch((error: unknown) => log.warn({ error: asError(error) }, 'tenant configuration not cached'));
    } catch (error) {
      this.#failed.inc();
      if (this.#isFresh) log.warn({ error: asError(error) }, 'tenant configuration is stale: the back office does not answer');
    }
    this.#isFresh = isAnswered;
    this.#stale.set(isAnswered ? 0 : 1);
    this.emit('asked', isAnswered);
    return isAnswered;
  }

  #take(next: TenantConfig): void {
    const present = this.#known.get(next.code);
    if (present !== undefined && !isNotLower(next, present)) return;
    this.#known.set(next.code, next);
    const [before, now] = [present?.state ?? 'active', next.state];
    if (before === now) return;
    this.#deps.log.info({ tenant_code: next.code, state: now, config_version: next.config_version }, 'state of a tenant');
    if (before === 'active') this.emit('closed', next.code);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
