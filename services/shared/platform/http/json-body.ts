import express from 'express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { Refusal } from '#shared/contract/reasons.ts';

const EMPTY = Buffer.alloc(0);
const rawBodies = new WeakMap<Request, Buffer>();

/** The body's bytes as they came over the wire; empty when there was none. What a signature covers. @see SIG-19 */
export function rawBodyOf(request: Request): Buffer {
  return rawBodies.get(request) ?? EMPTY;
}

/**
 * Reads a body of at most `limitBytes` without inflating it, keeps the bytes, and parses JSON from them.
 * `request.body` is the parsed value, undefined without a body. A compressed body is refused: its limit could not be judged before inflating.
 *
 * @throws {Refusal} TOO_LARGE | INVALID_ARGUMENT, through `next`
 */
export function jsonBody(limitBytes: number): readonly RequestHandler[] {
  return [express.raw({ type: () => true, inflate: false, limit: limitBytes }), parseJson];
}

function parseJson(request: Request, _: Response, next: NextFunction): void {
  const body: unknown = request.body;
  if (!Buffer.isBuffer(body) || body.length === 0) {
    request.body = undefined;
    next();
    return;
  }
  rawBodies.set(request, body);
  assertJsonType(request.get('content-type'));
  request.body = parse(body);
  next();
}

function assertJsonType(contentType: string | undefined): void {
  const [type, ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (type !== 'application/json')
    throw new Refusal('INVALID_ARGUMENT', 'content-type must be application/json', { header: 'content-type' });
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw new Refusal('INVALID_ARGUMENT', 'JSON is UTF-8', { header: 'content-type' });
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new Refusal('INVALID_ARGUMENT', 'the body is not valid JSON in UTF-8', {}, { cause });
  }
}
