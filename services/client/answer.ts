import { REASONS } from '#shared/contract/reasons.ts';
import type { Answer } from '#shared/contract/reasons.ts';

export type Data = Readonly<Record<string, unknown>>;

/** The server said no. `reason` is its stable word, `traceId` what an operator looks for. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly code: number;
  readonly reason: string;
  readonly traceId: string;
  readonly data: Data;

  constructor({ code, msg, request_id, data }: Answer) {
    const details = isData(data) ? data : {};
    const reason = typeof details['reason'] === 'string' ? details['reason'] : 'UNKNOWN';
    super(`${reason} (${code}): ${msg}`);
    this.code = code;
    this.reason = reason;
    this.traceId = request_id;
    this.data = details;
  }

  /** How long to wait before asking again (ms), where the server says so. */
  get retryAfterMs(): number | undefined {
    const { retry_after_ms: waitMs } = this.data;
    return typeof waitMs === 'number' && waitMs > 0 ? waitMs : undefined;
  }

  get isRetriable(): boolean {
    return Object.entries(REASONS).some(([reason, { retriable }]) => reason === this.reason && retriable);
  }
}

/** Opens an answer. @throws {RefusedError} when its code is not 0; @throws {Error} when it is no answer at all */
export function openAnswer(text: string): { readonly data: Data; readonly traceId: string } {
  const answer: unknown = JSON.parse(text);
  if (!isData(answer) || typeof answer['code'] !== 'number') throw new Error('the server sent something that is no answer');
  const traceId = typeof answer['request_id'] === 'string' ? answer['request_id'] : '';
  const msg = typeof answer['msg'] === 'string' ? answer['msg'] : '';
  if (answer['code'] !== 0) throw new RefusedError({ code: answer['code'], msg, request_id: traceId, data: answer['data'] });
  return { data: isData(answer['data']) ? answer['data'] : {}, traceId };
}

export function isData(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member that the protocol promises to be a string, such as every id. @throws {Error} when it is not */
export function textOf(data: Data, field: string): string {
  const value = data[field];
  if (typeof value !== 'string') throw new Error(`the answer has no "${field}"`);
  return value;
}

/** A member that the protocol promises to be a list of objects. @throws {Error} when it is not */
export function listOf(data: Data, field: string): readonly Data[] {
  const value = data[field];
  if (!Array.isArray(value)) throw new Error(`the answer has no list "${field}"`);
  return value.filter(isData);
}
