import type { Request } from 'express';
import type { IncomingRequest } from '../hmac/verify-request.ts';
import { rawBodyOf } from './json-body.ts';

/** A request as its signature covers it: `originalUrl` is the request line's target, untouched; routers change only `url`. */
export function incomingRequest(request: Request): IncomingRequest {
  return {
    method: request.method,
    target: request.originalUrl,
    body: rawBodyOf(request),
    header: (name) => request.get(name),
  };
}
