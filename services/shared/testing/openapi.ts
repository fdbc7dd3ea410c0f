import { readFileSync } from 'node:fs';
import type { RequestHandler, Router } from 'express';
import { parse } from 'yaml';
import type { Mount } from '#shared/platform/http/app.ts';

interface Operation {
  readonly summary?: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name?: string; readonly in?: string; readonly $ref?: string }[];
}

/** An OpenAPI page, as far as tests look at it. */
export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly text: string;
}

export function readOpenApi(url: URL): OpenApi {
  const text = readFileSync(url, 'utf8');
  return { ...(parse(text) as Omit<OpenApi, 'text'>), text };
}

/** `get /v1/groups/{id}` for each operation of the page, sorted. */
export function describedRoutes({ paths }: OpenApi): readonly string[] {
  return Object.entries(paths)
    .flatMap(([path, operations]) => Object.keys(operations).map((method) => `${method} ${path}`))
    .sort();
}

/** The same for what routers really answer. */
export function servedRoutes(mounts: readonly Mount[]): readonly string[] {
  return mounts.flatMap(({ path, handler }) => routesOf(handler).map(({ method, below }) => `${method} ${join(path, below)}`)).sort();
}

function routesOf(handler: RequestHandler): readonly { method: string; below: string }[] {
  return (handler as Router).stack.flatMap(({ route }) => {
    if (route === undefined) return [];
    const methods = new Set(route.stack.map(({ method }) => method));
    return [...methods].map((method) => ({ method, below: route.path }));
  });
}

function join(mount: string, below: string): string {
  return `${mount}${below === '/' ? '' : below}`.replaceAll(/:(\w+)/g, '{$1}');
}

/** References of the page that lead nowhere, and path parameters that an operation does not declare. */
export function loosePlaces(page: OpenApi): readonly string[] {
  const whole = parse(page.text) as unknown;
  const references = [...page.text.matchAll(/\$ref: ['"]?#\/([\w/.-]+)/g)].map(([, path = '']) => path);
  const broken = references.filter((path) => path.split('/').reduce(step, whole) === undefined);
  return [...new Set(broken), ...undeclaredParameters(page)];
}

function step(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function undeclaredParameters(page: OpenApi): readonly string[] {
  const whole = parse(page.text) as unknown;
  return Object.entries(page.paths).flatMap(([path, operations]) => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    return Object.entries(operations).flatMap(([method, { parameters = [] }]) => {
      const declared = parameters.map(({ name, $ref }) => name ?? nameOf(whole, $ref ?? ''));
      return names.filter((name) => !declared.includes(name)).map((name) => `${method} ${path}: ${name}`);
    });
  });
}

function nameOf(whole: unknown, reference: string): unknown {
  return step(reference.replace('#/', '').split('/').reduce(step, whole), 'name');
}
