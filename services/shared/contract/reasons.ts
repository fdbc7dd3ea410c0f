/** Every refusal that a client, an integrator or the back office can see. One row per reason; the row is the whole truth about it. */
export const REASONS = {
  INVALID_ARGUMENT: { code: 40001, http: 400, retriable: false },
  UNAUTHORIZED: { code: 40101, http: 401, retriable: false },
  FORBIDDEN: { code: 40301, http: 403, retriable: false },
  NOT_A_MEMBER: { code: 40301, http: 403, retriable: false },
  NOT_FRIENDS: { code: 40301, http: 403, retriable: false },
  BLOCKED: { code: 40301, http: 403, retriable: false },
  MEMBER_MUTED: { code: 40301, http: 403, retriable: false },
  GROUP_MUTED: { code: 40301, http: 403, retriable: false },
  ACCOUNT_SUSPENDED: { code: 40301, http: 403, retriable: false },
  TENANT_DISABLED: { code: 40301, http: 403, retriable: false },
  REGISTRATION_CLOSED: { code: 40301, http: 403, retriable: false },
  RESOURCE_NOT_FOUND: { code: 40401, http: 404, retriable: false },
  DUPLICATE: { code: 40901, http: 409, retriable: false },
  NAME_TAKEN: { code: 40901, http: 409, retriable: false },
  COMMAND_DUPLICATED: { code: 40901, http: 409, retriable: false },
  GROUP_VERSION_CONFLICT: { code: 40902, http: 409, retriable: false },
  TOO_LARGE: { code: 41301, http: 413, retriable: false },
  RATE_LIMITED: { code: 42901, http: 429, retriable: true },
  INTERNAL: { code: 50001, http: 500, retriable: true },
  BUSY: { code: 50301, http: 503, retriable: true },
  SIGNATURE_MISSING: { code: 40101, http: 401, retriable: false },
  SIGNATURE_INVALID: { code: 40101, http: 401, retriable: false },
  TIMESTAMP_OUT_OF_WINDOW: { code: 40101, http: 401, retriable: false },
  NONCE_REPLAYED: { code: 40101, http: 401, retriable: false },
  OPERATOR_CONTEXT_INVALID: { code: 40101, http: 401, retriable: false },
  SERVICE_NOT_ALLOWED: { code: 40301, http: 403, retriable: false },
} as const satisfies Record<string, { code: number; http: number; retriable: boolean }>;

export type Reason = keyof typeof REASONS;

/** What goes with a refusal to the one who asked: ids, limits, waiting times. Never a body or a secret. */
export type RefusalDetails = Readonly<Record<string, string | number | boolean>>;

/** A refusal that we chose. Anything else that is thrown is a bug or a broken dependency. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly reason: Reason;
  readonly details: RefusalDetails;

  constructor(reason: Reason, message?: string, details: RefusalDetails = {}, options?: ErrorOptions) {
    super(message ?? reason, options);
    this.reason = reason;
    this.details = details;
  }

  get code(): number {
    return REASONS[this.reason].code;
  }

  get httpStatus(): number {
    return REASONS[this.reason].http;
  }

  get retriable(): boolean {
    return REASONS[this.reason].retriable;
  }
}

/** The one answer form on frames and HTTP alike. */
export interface Answer {
  readonly code: number;
  readonly msg: string;
  readonly request_id: string;
  readonly data: unknown;
}

/** The answer for a thrown value: a refusal says why, anything else says only INTERNAL (the log has the rest). */
export function refusalAnswer(error: unknown, requestId: string): Answer {
  const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL');
  return {
    code: refusal.code,
    msg: refusal.message,
    request_id: requestId,
    data: { reason: refusal.reason, retriable: refusal.retriable, ...refusal.details },
  };
}
