import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** One registry a process; names of OBS-02 .. OBS-10, units in seconds and bytes. */
export class Metrics {
  readonly #registry = new Registry();

  /** Adds the process's own figures (CPU, memory, event-loop lag, GC). */
  collectProcess(): this {
    collectDefaultMetrics({ register: this.#registry });
    return this;
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): Counter {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    return new Gauge({ name, help, labelNames: [...labelNames], registers: [this.#registry] });
  }

  /** Buckets from 1 ms to 10 s unless told. */
  histogram(name: string, help: string, labelNames: readonly string[] = [], buckets: readonly number[] = LATENCY_SECONDS): Histogram {
    return new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers: [this.#registry] });
  }

  /** Prometheus text. */
  async text(): Promise<string> {
    return this.#registry.metrics();
  }
}

const LATENCY_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10] as const;
