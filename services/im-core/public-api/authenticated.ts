import type { Request, RequestHandler } from 'express';
import { bearerToken } from '#shared/platform/http/parse-request.ts';
import { verifyAccessToken } from '#shared/tenant/user/authenticate.ts';
import type { AuthenticateDeps, Identity } from '#shared/tenant/user/authenticate.ts';

const identities = new WeakMap<Request, Identity>();

/** Lets a request on only with an access token whose holder may still come in. */
export function authenticated(deps: AuthenticateDeps): RequestHandler {
  return async (request, _response, next) => {
    identities.set(request, await verifyAccessToken(deps, bearerToken(request)));
    next();
  };
}

/** @throws {Error} behind a route that forgot `authenticated`: a bug */
export function identityOf(request: Request): Identity {
  const identity = identities.get(request);
  if (identity === undefined) throw new Error('route without authentication');
  return identity;
}
