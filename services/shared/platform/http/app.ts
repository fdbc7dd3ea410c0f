import express from 'express';
import type { Express, RequestHandler } from 'express';
import type { Log } from '../log/log.ts';
import { errorEdge, noSuchPath } from './answer.ts';
import { jsonBody } from './json-body.ts';
import { attachContext } from './request-context.ts';

export interface AppSettings {
  /** Largest body in bytes. Default 256 KiB. */
  readonly bodyLimitBytes?: number;
}

/** A prefix and what answers below it. */
export interface Mount {
  readonly path: string;
  readonly handler: RequestHandler;
}

/**
 * An express application with ids, JSON bodies, and one error edge. What `mounts` does not answer is 404.
 * A rejected async handler reaches the edge by itself.
 */
export function createApp({ log }: { readonly log: Log }, mounts: readonly Mount[], settings: AppSettings = {}): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(attachContext);
  for (const handler of jsonBody(settings.bodyLimitBytes ?? 262_144)) app.use(handler);
  for (const { path, handler } of mounts) app.use(path, handler);
  app.use(noSuchPath);
  app.use(errorEdge(log));
  return app;
}
