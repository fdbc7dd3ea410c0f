import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** One value of a watched gauge. */
export interface Reading {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** How long a look at a watched gauge may take (ms); then it has no value, and the others are shown all the same. */
const READ_TIMEOUT_MS = 2_000;

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

  /** A gauge that is read when somebody looks at it. While its source is away it has no value: an old one would be a lie. */
  watch(name: string, help: string, labelNames: readonly string[], read: () => Promise<readonly Reading[]>): void {
    const gauge = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect: async () => {
        const readings = await withDeadline(read()).catch(() => []);
        gauge.reset();
        if (labelNames.length === 0) gauge.remove(); // reset leaves a 0 there
        for (const { labels = {}, value } of readings) gauge.set(labels, value);
      },
    });
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

async function withDeadline<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), READ_TIMEOUT_MS);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
