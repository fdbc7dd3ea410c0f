import type { Request } from 'express';
import { z } from 'zod';
import { parseId } from '#shared/contract/ids.ts';
import { Refusal } from '#shared/contract/reasons.ts';

/** Reads the JSON body. @throws {Refusal} INVALID_ARGUMENT naming the first wrong field, never its value */
export function parseBody<T>(schema: z.ZodType<T>, request: Request): T {
  return parseValue(schema, request.body ?? {});
}

/** Reads the query string; a parameter that occurs twice is a list and therefore refused by a schema of texts. */
export function parseQuery<T>(schema: z.ZodType<T>, request: Request): T {
  return parseValue(schema, request.query);
}

/** Reads any value that came in from outside. @throws {Refusal} INVALID_ARGUMENT as above */
export function parseValue<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  throw new Refusal(
    'INVALID_ARGUMENT',
    `${field === '' ? 'the input' : field}: ${issue?.message ?? 'is wrong'}`,
    field === '' ? {} : { field },
  );
}

/** A 64-bit id: a decimal string or a safe integer. */
export function idField(field: string): z.ZodType<bigint> {
  return z.unknown().transform((value) => parseId(value, field));
}

/** A page size in a query. */
export function limitField(fallback: number, max: number): z.ZodType<number> {
  return z
    .string()
    .regex(/^[0-9]{1,6}$/, 'must be a number')
    .transform(Number)
    .pipe(z.number().min(1).max(max))
    .default(fallback);
}

/** The token of `Authorization: Bearer ...`. @throws {Refusal} UNAUTHORIZED */
export function bearerToken(request: Request): string {
  const token = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i.exec(request.get('authorization') ?? '')?.[1];
  if (token === undefined) throw new Refusal('UNAUTHORIZED', 'send an access token as Authorization: Bearer');
  return token;
}

/** An id in a query from which a page goes on; 0 = from the beginning. */
export function cursorField(field: string): z.ZodType<bigint> {
  return z
    .unknown()
    .optional()
    .transform((value) => (value === undefined ? 0n : parseId(value, field, 0n)));
}
