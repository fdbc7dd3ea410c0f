import { createHash, randomBytes } from 'node:crypto';

/**
 * W3C trace context of one of our trace ids: the same trace id gives the same 32 hex digits everywhere, so a foreign tracer joins our
 * events with one trace; the span is new each time.
 */
export function traceparent(traceId: string): string {
  const trace = createHash('sha256').update(traceId).digest('hex').slice(0, 32);
  return `00-${trace}-${randomBytes(8).toString('hex')}-01`;
}
