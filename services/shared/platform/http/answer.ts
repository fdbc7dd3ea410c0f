import type { ErrorRequestHandler, Request, Response } from 'express';
import { Refusal, refusalAnswer } from '#shared/contract/reasons.ts';
import { isOutage } from '../events/failure.ts';
import type { Log } from '../log/log.ts';
import { contextOf } from './request-context.ts';

/** Sends `{code: 0, msg: "ok", request_id, data}`. */
export function answer(request: Request, response: Response, data: object, status = 200): void {
  response.status(status).json({ code: 0, msg: 'ok', request_id: contextOf(request).requestId, data });
}

/** The same for data that is JSON text already, so that embedded bytes stay as they are. */
export function answerText(request: Request, response: Response, dataJson: string): void {
  const requestId = JSON.stringify(contextOf(request).requestId);
  response.type('json').send(`{"code":0,"msg":"ok","request_id":${requestId},"data":${dataJson}}`);
}

/** Nothing has this path. A stranger learns only that. */
export function noSuchPath(): never {
  throw new Refusal('RESOURCE_NOT_FOUND', 'no such path');
}

/**
 * The one place where a thrown value becomes an answer. A Refusal says why; anything else is logged once, with ids, and answered without a
 * word of the cause: BUSY while MySQL or Redis is away, so that the caller comes again, else INTERNAL.
 */
export function errorEdge(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    const known = asRefusal(error);
    if (!(known instanceof Refusal)) logFailure(log, request, error);
    const refusal = known instanceof Refusal || !isOutage(error) ? known : new Refusal('BUSY', 'not possible now; try again');
    // Half an answer cannot be taken back; express then cuts the connection.
    if (response.headersSent) {
      next(error);
      return;
    }
    const body = refusalAnswer(refusal, contextOf(request).requestId);
    const status = refusal instanceof Refusal ? refusal.httpStatus : 500;
    const { retry_after_ms: retryAfterMs } = refusal instanceof Refusal ? refusal.details : {};
    if (typeof retryAfterMs === 'number') response.setHeader('Retry-After', Math.ceil(retryAfterMs / 1_000));
    response.status(status).json(body);
  };
}

/** Express and its parsers throw errors with a `status`: what is the caller's fault becomes a refusal. */
function asRefusal(error: unknown): unknown {
  if (error instanceof Refusal || !(error instanceof Error)) return error;
  const { status } = error as { status?: unknown };
  if (status === 413) return new Refusal('TOO_LARGE', 'the body is too large', {}, { cause: error });
  if (typeof status === 'number' && status >= 400 && status < 500)
    return new Refusal('INVALID_ARGUMENT', 'the request cannot be read', {}, { cause: error });
  return error;
}

function logFailure(log: Log, request: Request, thrown: unknown): void {
  const { requestId, traceId, realIp } = contextOf(request);
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const route = (request.route as { path?: unknown } | undefined)?.path;
  log.error(
    {
      error,
      trace_id: traceId,
      request_id: requestId,
      real_ip: realIp,
      method: request.method,
      route: typeof route === 'string' ? route : 'none',
    },
    'request failed',
  );
}
