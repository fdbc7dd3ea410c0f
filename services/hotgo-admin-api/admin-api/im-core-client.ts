import type { OperatorContext } from '#shared/contract/internal-api.ts';
import { REASONS, Refusal } from '#shared/contract/reasons.ts';
import type { Reason } from '#shared/contract/reasons.ts';
import { signedGet } from '#shared/platform/http/signed-get.ts';
import type { SignedClientSettings } from '#shared/platform/http/signed-get.ts';
import type { Log } from '#shared/platform/log/log.ts';

/** A question on behalf of an administrator. */
export interface ImCoreQuery {
  /** Path with query below `/internal/admin-query`, already escaped. */
  readonly path: string;
  readonly operator: OperatorContext;
  readonly traceId: string;
}

/** Reasons that are about the question and not about how it was asked; the administrator gets them as they are. */
const PASSED_ON: readonly Reason[] = ['INVALID_ARGUMENT', 'FORBIDDEN', 'RESOURCE_NOT_FOUND', 'RATE_LIMITED', 'BUSY'];

/** Asks im-core, signed. The back office has no other road to what a tenant holds. @see QRY-10 */
export class ImCoreClient {
  readonly #settings: SignedClientSettings;
  readonly #log: Log;

  constructor(settings: SignedClientSettings, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  /** @returns `data` of the answer. @throws {Refusal} what im-core said about the question | BUSY when it did not answer in time | INTERNAL */
  async query({ path, operator, traceId }: ImCoreQuery): Promise<object> {
    const question = { path: `/internal/admin-query${path}`, operator, traceId };
    const { code, msg, data } = await signedGet(this.#settings, question).catch((cause: unknown) => {
      throw new Refusal('BUSY', 'im-core does not answer now', {}, { cause });
    });
    if (code === 0) return data;
    throw this.#refusal(data['reason'], msg, traceId, data);
  }

  #refusal(word: unknown, message: string, traceId: string, data: Readonly<Record<string, unknown>>): Refusal {
    const reason = PASSED_ON.find((candidate) => candidate === word);
    if (reason !== undefined) return new Refusal(reason, message);
    this.#log.error(
      { trace_id: traceId, reason: typeof word === 'string' && word in REASONS ? word : 'unknown' },
      'im-core refused how we asked',
    );
    return typeof data['retry_after_ms'] === 'number' ? new Refusal('BUSY', 'ask again in a moment') : new Refusal('INTERNAL');
  }
}
