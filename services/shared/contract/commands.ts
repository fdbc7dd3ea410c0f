/** Client commands by number (FRM-08, FRM-09). A reply copies RequestID and SequenceID. */
export const COMMANDS = {
  AUTH: 1,
  HEARTBEAT: 2,
  GENERATE_MSG_ID: 3,
  SEND_MESSAGE: 4,
  SEND_ACK: 5,
  MESSAGE: 6,
  PUSH_ACK: 7,
  READ_MESSAGE: 8,
  RECALL_MESSAGE: 9,
  SYNC_INBOX: 10,
  SYNC_INBOX_FINISH: 11,
  SYNC_MESSAGES: 12,
  SYNC_MESSAGES_FINISH: 13,
  KICK: 14,
  EVENT: 15,
  CARD_ACTION: 16,
  TYPING: 17,
} as const;

export type CommandName = keyof typeof COMMANDS;
export type CommandNumber = (typeof COMMANDS)[CommandName];

const NAMES: ReadonlyMap<number, CommandName> = new Map(
  Object.entries(COMMANDS).map(([name, number]) => [number, name as CommandName] as const),
);

export function commandName(number: number): CommandName | undefined {
  return NAMES.get(number);
}

export const MESSAGE_TYPES = { TEXT: 1, IMAGE: 2, VOICE: 3, VIDEO: 4, STICKER: 5, GIF: 6, FILE: 7, LOCATION: 8, SYSTEM: 9 } as const;
export const CONVERSATION_TYPES = { P2P: 1, GROUP: 2 } as const;
export const MESSAGE_STATUS = { NORMAL: 1, RECALLED: 2, HIDDEN: 3 } as const;
export const MEMBER_ROLES = { OWNER: 1, ADMIN: 2, MEMBER: 3 } as const;
export const CHANGE_KINDS = { MESSAGE: 1, EDIT: 2, RECALL: 3, HIDE: 4, REACTION: 5, MEMBER: 6, GOVERNANCE: 7 } as const;
export type ChangeKind = (typeof CHANGE_KINDS)[keyof typeof CHANGE_KINDS];
export const USER_STATES = { OK: 1, SUSPENDED: 2, DELETED: 3 } as const;
export const MAILBOX_EVENTS = { RECALL: 1, KICK: 2, MEMBER: 3, FRIEND: 4, MISSED_MESSAGE: 5 } as const;
