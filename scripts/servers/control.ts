/** The supervisor's door for our own commands: HTTP on HOME/run/supervisor.sock, which only root can reach. */
import { createServer, request } from 'node:http';
import type { Server } from 'node:http';
import { rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { ApplianceStatus } from './supervisor.ts';

export interface ControlActions {
  status(): ApplianceStatus;
  /** Answered before the supervisor is gone. */
  stop(): void;
  apply(): Promise<void>;
}

export async function serveControl(socketPath: string, actions: ControlActions): Promise<Server> {
  await rm(socketPath, { force: true }); // The lock says that nobody else listens.
  const server = createServer((message, response) => {
    const answer = async (): Promise<object> => {
      if (message.method === 'GET' && message.url === '/status') return actions.status();
      if (message.method === 'POST' && message.url === '/stop') {
        actions.stop();
        return {};
      }
      if (message.method !== 'POST' || message.url !== '/apply') throw new Error(`unknown request ${message.url ?? ''}`);
      await actions.apply();
      return {};
    };
    answer().then(
      (body) => response.writeHead(200).end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  server.once('error', reject);
  server.listen(socketPath, () => resolve(server));
  return promise;
}

/** @returns undefined when no supervisor runs */
export async function askStatus(socketPath: string): Promise<ApplianceStatus | undefined> {
  const answer = await httpOver(socketPath, 'GET', '/status');
  return answer === undefined ? undefined : (JSON.parse(answer.body) as ApplianceStatus);
}

/** @returns false when no supervisor runs */
export async function askTo(socketPath: string, action: 'stop' | 'apply'): Promise<boolean> {
  const answer = await httpOver(socketPath, 'POST', `/${action}`, 60_000);
  if (answer !== undefined && answer.status !== 200) throw new Error(answer.body);
  return answer !== undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** One small request over a unix socket. @returns undefined when nobody answers */
export async function httpOver(socketPath: string, method: string, path: string, timeoutMs = 3_000): Promise<HttpAnswer | undefined> {
  const { promise, resolve } = Promise.withResolvers<HttpAnswer | undefined>();
  const message = request({ socketPath, method, path, timeout: timeoutMs, agent: false }, (response) => {
    text(response).then(
      (body) => resolve({ status: response.statusCode ?? 0, body }),
      () => resolve(undefined),
    );
  });
  message.on('timeout', () => message.destroy());
  message.on('error', () => resolve(undefined));
  message.end();
  return promise;
}
