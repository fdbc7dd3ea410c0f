import { textOf } from './answer.ts';
import type { Data } from './answer.ts';
import type { Credentials } from './client-api.ts';
import type { HttpClient } from './http-client.ts';

export interface AdminCommand {
  readonly tenant: string;
  readonly eventType: string;
  readonly payload: object;
  /** A repeat with the same id answers the same result. Default: the server makes one. */
  readonly commandId?: string;
}

export interface AcceptedCommand {
  readonly commandId: string;
  readonly traceId: string;
  readonly status: string;
}

/** The administrators' HTTP API that our own clients use. */
export class AdminApi {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** @returns an access token. @throws {RefusedError} UNAUTHORIZED | RATE_LIMITED after five wrong passwords */
  async login({ name, password }: Credentials): Promise<string> {
    return textOf(await this.#http.post('/admin/v1/login', { name, password }), 'access_token');
  }

  async order(token: string, { tenant, eventType, payload, commandId }: AdminCommand): Promise<AcceptedCommand> {
    const body = { event_type: eventType, payload, ...(commandId === undefined ? {} : { command_id: commandId }) };
    const data = await this.#http.post(`/admin/v1/tenants/${tenant}/commands`, body, token);
    return { commandId: textOf(data, 'command_id'), traceId: textOf(data, 'trace_id'), status: textOf(data, 'status') };
  }

  async command(token: string, tenant: string, commandId: string): Promise<Data> {
    return this.#http.get(`/admin/v1/tenants/${tenant}/commands/${commandId}`, token);
  }
}
