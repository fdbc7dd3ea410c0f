import { listOf, textOf } from './answer.ts';
import type { Data } from './answer.ts';
import type { HttpClient } from './http-client.ts';

export interface Credentials {
  readonly name: string;
  readonly password: string;
}

export interface Device {
  /** Decimal; the client chooses it once and keeps it. */
  readonly deviceId: string;
  readonly platform: string;
}

/** A logged-in device. */
export interface Login {
  readonly userId: string;
  readonly deviceId: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** The client HTTP API that our own clients use. Ids are decimal strings. */
export class ClientApi {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** @throws {RefusedError} NAME_TAKEN | REGISTRATION_CLOSED */
  async register({ name, password }: Credentials, displayName = name): Promise<void> {
    await this.#http.post('/v1/auth/register', { name, password, display_name: displayName });
  }

  /** @throws {RefusedError} UNAUTHORIZED (name or password) */
  async login({ name, password }: Credentials, { deviceId, platform }: Device): Promise<Login> {
    const data = await this.#http.post('/v1/auth/login', { name, password, device_id: deviceId, platform });
    return {
      userId: textOf(data, 'user_id'),
      deviceId,
      accessToken: textOf(data, 'access_token'),
      refreshToken: textOf(data, 'refresh_token'),
    };
  }

  /** @returns the user's id, undefined when nobody has that name */
  async findUser(token: string, name: string): Promise<string | undefined> {
    const data = await this.#http.get(`/v1/users?name=${encodeURIComponent(name)}`, token);
    return listOf(data, 'users')
      .map((user) => textOf(user, 'user_id'))
      .at(0);
  }

  /** @returns `requested`, or `friend` where the other one had asked before */
  async requestFriend(token: string, userId: string): Promise<string> {
    return textOf(await this.#http.post('/v1/friends/requests', { user_id: userId }, token), 'state');
  }

  async acceptFriend(token: string, userId: string): Promise<string> {
    return textOf(await this.#http.post('/v1/friends/accept', { user_id: userId }, token), 'state');
  }

  async friends(token: string): Promise<readonly Data[]> {
    return listOf(await this.#http.get('/v1/friends', token), 'friends');
  }

  async openP2p(token: string, userId: string): Promise<string> {
    return textOf(await this.#http.post('/v1/conversations/p2p', { user_id: userId }, token), 'conversation_id');
  }

  async createGroup(token: string, name: string, memberIds: readonly string[]): Promise<{ conversationId: string; topic: string }> {
    const data = await this.#http.post('/v1/groups', { name, member_ids: memberIds }, token);
    return { conversationId: textOf(data, 'conversation_id'), topic: textOf(data, 'topic') };
  }

  async group(token: string, conversationId: string): Promise<Data> {
    return this.#http.get(`/v1/groups/${conversationId}`, token);
  }

  async members(token: string, conversationId: string): Promise<Data> {
    return this.#http.get(`/v1/groups/${conversationId}/members`, token);
  }

  /** Messages before `beforeMsgId`, newest first or as the server orders them. */
  async history(token: string, conversationId: string, beforeMsgId?: string): Promise<readonly Data[]> {
    const query = beforeMsgId === undefined ? '' : `?before=${beforeMsgId}`;
    return listOf(await this.#http.get(`/v1/conversations/${conversationId}/messages${query}`, token), 'messages');
  }

  async me(token: string): Promise<Data> {
    return this.#http.get('/v1/me', token);
  }
}
