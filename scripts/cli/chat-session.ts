import { COMMANDS, MESSAGE_TYPES } from '#shared/contract/commands.ts';
import { isData, RefusedError, textOf } from '#client/answer.ts';
import type { Data } from '#client/answer.ts';
import { chatMessage, MessageChain } from '#client/chat-message.ts';
import type { ChatMessage } from '#client/chat-message.ts';
import type { ClientApi } from '#client/client-api.ts';
import type { ImClient } from '#client/im-client.ts';
import type { Push } from '#client/pushes.ts';
import { syncInbox, syncMessages } from '#client/sync.ts';
import type { InboxCursor } from '#client/sync.ts';
import { ChatNames } from './chat-names.ts';

export interface ChatSessionDeps {
  readonly api: ClientApi;
  readonly client: ImClient;
  readonly userId: string;
  readonly token: () => Promise<string>;
  readonly print: (line: string) => void;
}

interface Conversation {
  readonly id: string;
  readonly chain: MessageChain;
}

type Action = (words: readonly string[]) => Promise<void> | void;

/** How many messages an opened conversation shows. */
const SHOWN = 20;

/** What the terminal client knows and does, without the terminal: lines in, lines out. */
export class ChatSession {
  readonly #deps: ChatSessionDeps;
  readonly #names: ChatNames;
  readonly #dialogs = new Map<string, Data>();
  /** Conversations in the order of the last list, so that `/open 2` means what was seen. */
  #listed: readonly string[] = [];
  #cursor: InboxCursor | undefined;
  #open: Conversation | undefined;
  /** Messages of the open conversation that were written here and are on the screen already. */
  readonly #written = new Set<string>();

  constructor(deps: ChatSessionDeps) {
    this.#deps = deps;
    this.#names = new ChatNames(deps.api, deps.token);
  }

  /** Shows what comes, until the session ends. */
  async follow(): Promise<void> {
    for await (const push of this.#deps.client.pushes) {
      await this.#guarded(() => this.#show(push));
    }
  }

  /** One line of the user. @returns false when he wants to go */
  async line(text: string): Promise<boolean> {
    const [word = '', ...rest] = text.trim().split(/\s+/);
    if (word === '/quit' || word === '/q') return false;
    await this.#guarded(() => this.#do(word, rest, text.trim()));
    return true;
  }

  /** After every connect: what was missed, and in the open conversation the messages themselves. */
  async catchUp(): Promise<void> {
    await this.#guarded(async () => {
      await this.#readInbox();
      if (this.#open !== undefined) await this.#fill(this.#open);
    });
  }

  async #do(word: string, rest: readonly string[], text: string): Promise<void> {
    if (word === '') return;
    if (!word.startsWith('/')) return this.#send(text);
    const action = this.#actions.get(word);
    if (action === undefined) this.#deps.print(`unknown ${word}; /help shows what there is`);
    else await action(rest);
  }

  readonly #actions: ReadonlyMap<string, Action> = new Map<string, Action>([
    ['/help', () => HELP.forEach((line) => this.#deps.print(line))],
    ['/list', () => this.#list()],
    ['/open', ([which = '']) => this.#openConversation(which)],
    ['/friend', ([name = '']) => this.#befriend(name)],
    ['/group', ([name = '', ...members]) => this.#createGroup(name, members)],
    ['/read', () => this.#read()],
  ]);

  async #list(): Promise<void> {
    await this.#readInbox();
    const dialogs = [...this.#dialogs.values()].filter(({ left }) => left !== true && left !== 1);
    dialogs.sort((a, b) => (BigInt(textOf(b, 'score')) > BigInt(textOf(a, 'score')) ? 1 : -1));
    this.#listed = dialogs.map((dialog) => textOf(dialog, 'conversation_id'));
    for (const [index, dialog] of dialogs.entries()) {
      const name = await this.#names.conversation(textOf(dialog, 'conversation_id'));
      const unread = Number(dialog['unread'] ?? 0);
      this.#deps.print(`${String(index + 1).padStart(3)}  ${name}${unread > 0 ? `  (${unread} unread)` : ''}`);
    }
    if (dialogs.length === 0) this.#deps.print('nothing yet: /open NAME starts a conversation');
  }

  async #readInbox(): Promise<void> {
    await this.#names.learnFriends();
    const { dialogs, cursor } = await syncInbox(this.#deps.client, this.#cursor);
    this.#cursor = cursor;
    for (const dialog of dialogs) this.#dialogs.set(textOf(dialog, 'conversation_id'), dialog);
  }

  async #openConversation(which: string): Promise<void> {
    const id = this.#listed[Number(which) - 1] ?? (await this.#conversationWith(which));
    const name = await this.#names.conversation(id);
    this.#open = { id, chain: new MessageChain('0') };
    this.#deps.print(`--- ${name}`);
    this.#written.clear();
    await this.#fill(this.#open);
  }

  async #conversationWith(name: string): Promise<string> {
    const userId = await this.#userNamed(name);
    const id = await this.#deps.api.openP2p(await this.#deps.token(), userId);
    this.#names.knowConversation(id, name);
    return id;
  }

  async #userNamed(name: string): Promise<string> {
    if (name === '') throw new Error('whom? Give a name');
    const userId = await this.#deps.api.findUser(await this.#deps.token(), name);
    if (userId === undefined) throw new Error(`nobody here is called ${name}`);
    this.#names.knowPerson(userId, name);
    return userId;
  }

  /** Reads what the open conversation lacks and shows the end of it. */
  async #fill({ id, chain }: Conversation): Promise<void> {
    const { messages } = await syncMessages(this.#deps.client, id, chain.lastMsgId);
    const news = messages.filter(({ msgId }) => !this.#written.has(msgId));
    for (const message of news.slice(-SHOWN)) this.#deps.print(this.#lineOf(message));
    const last = messages.at(-1);
    if (last === undefined) return;
    chain.advanceTo(last.msgId);
    await this.#read();
  }

  async #send(text: string): Promise<void> {
    if (this.#open === undefined) throw new Error('open a conversation first: /open NAME');
    const { id } = this.#open;
    const { msgId } = await this.#deps.client.send({ conversationId: id, content: { t: MESSAGE_TYPES.TEXT, text } });
    this.#written.add(msgId);
    this.#deps.print(`${clock(new Date().toISOString())} me: ${text}  ✓`);
  }

  async #befriend(name: string): Promise<void> {
    const state = await this.#deps.api.requestFriend(await this.#deps.token(), await this.#userNamed(name));
    this.#deps.print(state === 'friend' ? `you and ${name} are friends` : `asked ${name}; you are friends once ${name} says /friend too`);
  }

  async #createGroup(name: string, members: readonly string[]): Promise<void> {
    if (name === '' || members.length === 0) throw new Error('/group NAME MEMBER ...');
    const ids = await Promise.all(members.map((member) => this.#userNamed(member)));
    const { conversationId } = await this.#deps.api.createGroup(await this.#deps.token(), name, ids);
    this.#listed = [conversationId];
    await this.#openConversation('1');
  }

  async #read(): Promise<void> {
    if (this.#open === undefined || this.#open.chain.lastMsgId === '0') return;
    await this.#deps.client.read(this.#open.id, this.#open.chain.lastMsgId);
  }

  async #show(push: Push): Promise<void> {
    if (push.command === COMMANDS.MESSAGE) await this.#showMessage(chatMessage(push.data));
    if (push.command === COMMANDS.EVENT) await this.#showEvent(push.data);
  }

  async #showMessage(message: ChatMessage): Promise<void> {
    if (message.conversationId !== this.#open?.id) {
      const name = await this.#names.conversation(message.conversationId);
      this.#deps.print(`(${name}) ${this.#lineOf(message)}`);
      return;
    }
    const verdict = this.#open.chain.offer(message);
    // Our own messages from this device are not pushed to us, so the chain has holes that are filled without a word.
    if (verdict === 'gap') await this.#fillSilently(this.#open, message);
    if (verdict === 'repeat') return;
    this.#deps.print(this.#lineOf(message));
    await this.#read();
  }

  async #fillSilently({ id, chain }: Conversation, until: ChatMessage): Promise<void> {
    const { messages } = await syncMessages(this.#deps.client, id, chain.lastMsgId);
    for (const message of messages) {
      if (message.senderId !== this.#deps.userId && message.msgId !== until.msgId) this.#deps.print(this.#lineOf(message));
    }
    chain.advanceTo(until.msgId);
  }

  async #showEvent(data: Data): Promise<void> {
    if (data['event'] === 'sync.required') return this.catchUp();
    const id = conversationOf(data);
    const where = id === undefined ? '' : ` in ${await this.#names.conversation(id)}`;
    this.#deps.print(`* ${String(data['event'])}${where}`);
  }

  #lineOf({ createdAt, senderId, content }: ChatMessage): string {
    const text = isData(content) && typeof content['text'] === 'string' ? content['text'] : JSON.stringify(content);
    return `${clock(createdAt)} ${senderId === this.#deps.userId ? 'me' : this.#names.person(senderId)}: ${text}`;
  }

  /** What the server refuses is an answer for the user, not the end of the client. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const reason =
        error instanceof RefusedError ? `${error.reason}: ${error.message}` : error instanceof Error ? error.message : String(error);
      this.#deps.print(`! ${reason}`);
    }
  }
}

export const HELP = [
  '/list            conversations, newest first',
  '/open NAME|N     talk to NAME, or open entry N of the list',
  '/friend NAME     ask NAME to be friends, or accept',
  '/group NAME WHO  make a group with these people',
  '/read            mark the open conversation as read (it is when you see a message)',
  '/quit            leave',
  'anything else is sent to the open conversation',
];

/** An event names its conversation in its data, or by its topic: `grp7`. */
function conversationOf({ data, topic }: Data): string | undefined {
  if (isData(data) && typeof data['conversation_id'] === 'string') return data['conversation_id'];
  return typeof topic === 'string' ? /^(?:grp|p2p)(\d+)$/.exec(topic)?.[1] : undefined;
}

function clock(iso: string): string {
  return iso.slice(11, 16);
}
