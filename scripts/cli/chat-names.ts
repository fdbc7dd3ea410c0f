import { listOf, RefusedError, textOf } from '#client/answer.ts';
import type { ClientApi } from '#client/client-api.ts';

/** Names of people and conversations as this user knows them, asked for once and kept. */
export class ChatNames {
  readonly #api: ClientApi;
  readonly #token: () => Promise<string>;
  readonly #people = new Map<string, string>();
  readonly #conversations = new Map<string, string>();

  constructor(api: ClientApi, token: () => Promise<string>) {
    this.#api = api;
    this.#token = token;
  }

  person(userId: string): string {
    return this.#people.get(userId) ?? `user ${userId}`;
  }

  knowPerson(userId: string, name: string): void {
    this.#people.set(userId, name);
  }

  /** Reads friends and the one conversation with each. */
  async learnFriends(): Promise<void> {
    const token = await this.#token();
    for (const friend of await this.#api.friends(token)) {
      const userId = textOf(friend, 'user_id');
      const name = textOf(friend, 'name');
      const isNew = this.#people.get(userId) !== name;
      this.knowPerson(userId, name);
      if (isNew) this.#conversations.set(await this.#api.openP2p(token, userId), name);
    }
  }

  knowConversation(conversationId: string, name: string): void {
    this.#conversations.set(conversationId, name);
  }

  /** A friend's name, a group's name, or the id where there is neither. */
  async conversation(conversationId: string): Promise<string> {
    const known = this.#conversations.get(conversationId);
    if (known !== undefined) return known;
    const name = await this.#groupName(conversationId);
    this.knowConversation(conversationId, name);
    return name;
  }

  async #groupName(conversationId: string): Promise<string> {
    const token = await this.#token();
    try {
      const group = await this.#api.group(token, conversationId);
      for (const member of listOf(await this.#api.members(token, conversationId), 'members')) {
        this.knowPerson(textOf(member, 'user_id'), textOf(member, 'name'));
      }
      return `#${textOf(group, 'name')}`;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      return `conversation ${conversationId}`;
    }
  }
}
