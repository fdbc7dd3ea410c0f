import { isIP } from 'node:net';
import type { NextFunction, Request, Response } from 'express';
import { ulid } from 'ulid';

/** What is known about a request before anybody looked at its body. */
export interface RequestContext {
  /** The caller's `X-Request-ID` if it is a sane one, else ours. Comes back in every answer. @see X-18 */
  readonly requestId: string;
  /** `req_<ULID>`: joins the log lines, commands and events that follow from this request. */
  readonly traceId: string;
  /** The client's address as nginx saw it; `unknown` for a caller that did not come through nginx. */
  readonly realIp: string;
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;
const TRACE_ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;

const contexts = new WeakMap<Request, RequestContext>();

/** @throws {Error} when `attachContext` did not run: a bug in the wiring */
export function contextOf(request: Request): RequestContext {
  const context = contexts.get(request);
  if (context === undefined) throw new Error('request without context');
  return context;
}

/**
 * Reads ids and the address. `X-Real-IP` is the one header that is believed, because our nginx always sets it and
 * nobody else can reach this door; `X-Forwarded-For` and its kin are whatever a client writes. @see NET-08
 */
export function attachContext(request: Request, response: Response, next: NextFunction): void {
  const given = request.get('x-request-id') ?? '';
  const traceId = TRACE_ID.test(given) ? given : `req_${ulid()}`;
  const requestId = REQUEST_ID.test(given) ? given : traceId;
  const address = request.get('x-real-ip') ?? '';
  contexts.set(request, { requestId, traceId, realIp: isIP(address) === 0 ? 'unknown' : address });
  response.setHeader('X-Request-ID', requestId);
  next();
}
