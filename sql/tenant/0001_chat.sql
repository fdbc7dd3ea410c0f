-- The chat core: people, conversations, members, messages and the chain of changes.
CREATE TABLE t_tenant_state (
  name   VARBINARY(64) NOT NULL PRIMARY KEY,
  value  VARBINARY(255) NOT NULL
) COMMENT='Single values of this tenant, such as sync_epoch (a restore changes it).';
INSERT INTO t_tenant_state (name, value) VALUES ('sync_epoch', LOWER(HEX(RANDOM_BYTES(8))));

CREATE TABLE t_users (
  id              BIGINT NOT NULL PRIMARY KEY,
  name            VARCHAR(64) COLLATE utf8mb4_0900_as_ci NOT NULL COMMENT 'login name',
  display_name    VARCHAR(64) NOT NULL DEFAULT '',
  kind            TINYINT NOT NULL DEFAULT 1 COMMENT '1 = person, 2 = service user, acts for the back office',
  password_hash   VARBINARY(255) NOT NULL COMMENT 'self-describing scrypt string; empty = cannot log in',
  state           TINYINT NOT NULL DEFAULT 1 COMMENT '1 = StateOK, 2 = StateSuspended, 3 = deleted (USR-02)',
  suspend_reason  VARBINARY(16) NOT NULL DEFAULT '' COMMENT 'ban | freeze',
  auth_version    BIGINT NOT NULL DEFAULT 1 COMMENT 'tokens of a lower version are refused (USR-03)',
  created_at      DATETIME(3) NOT NULL,
  updated_at      DATETIME(3) NOT NULL,
  UNIQUE KEY uk_name (name)
) COMMENT='Users of the tenant.';

CREATE TABLE t_devices (
  user_id       BIGINT NOT NULL,
  device_id     BIGINT NOT NULL COMMENT '1 .. 2^63-1, chosen by the client',
  platform      VARBINARY(32) NOT NULL DEFAULT '',
  auth_version  BIGINT NOT NULL DEFAULT 1 COMMENT 'raised by a kick of this device',
  created_at    DATETIME(3) NOT NULL,
  last_seen_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (user_id, device_id)
) COMMENT='Known devices; filled at AUTH.';

CREATE TABLE t_refresh_tokens (
  token_hash    BINARY(32) NOT NULL PRIMARY KEY COMMENT 'SHA-256 of the token; the token itself is never stored',
  user_id       BIGINT NOT NULL,
  device_id     BIGINT NOT NULL,
  auth_version  BIGINT NOT NULL,
  used_at       DATETIME(3) NULL COMMENT 'set once; a second use is theft and ends the session',
  expires_at    DATETIME(3) NOT NULL,
  created_at    DATETIME(3) NOT NULL,
  KEY idx_user (user_id, device_id),
  KEY idx_expires_at (expires_at)
);

CREATE TABLE t_friends (
  user_id     BIGINT NOT NULL,
  friend_id   BIGINT NOT NULL,
  state       TINYINT NOT NULL COMMENT '1 = user_id asked friend_id, 2 = friends; friends have two rows',
  remark      VARCHAR(64) NOT NULL DEFAULT '',
  created_at  DATETIME(3) NOT NULL,
  updated_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (user_id, friend_id),
  KEY idx_friend (friend_id, state)
);

CREATE TABLE t_blacklist (
  user_id     BIGINT NOT NULL,
  blocked_id  BIGINT NOT NULL,
  created_at  DATETIME(3) NOT NULL,
  PRIMARY KEY (user_id, blocked_id)
) COMMENT='One direction a row; either direction stops a P2P send.';

CREATE TABLE t_conversations (
  id              BIGINT NOT NULL PRIMARY KEY,
  type            TINYINT NOT NULL COMMENT '1 = P2P, 2 = GROUP',
  last_msg_id     BIGINT NOT NULL DEFAULT 0,
  last_msg_at     DATETIME(3) NOT NULL,
  last_change_id  BIGINT NOT NULL DEFAULT 0 COMMENT 'head of the chain of changes',
  last_change_at  DATETIME(3) NOT NULL,
  member_version  BIGINT NOT NULL DEFAULT 1 COMMENT 'raised by every change of members, roles, mutes, friendship and blacklist',
  created_at      DATETIME(3) NOT NULL,
  KEY idx_last_change (last_change_at, id)
) COMMENT='The row is also the mutex of its conversation.';

CREATE TABLE t_p2p_conversations (
  id               BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  user_small       BIGINT NOT NULL,
  user_big         BIGINT NOT NULL,
  conversation_id  BIGINT NOT NULL,
  UNIQUE KEY uk_p2p_users (user_small, user_big),
  UNIQUE KEY uk_conversation (conversation_id)
) COMMENT='Two users share one conversation, whoever writes first (MSG-49).';

CREATE TABLE t_groups (
  conversation_id  BIGINT NOT NULL PRIMARY KEY,
  name             VARCHAR(128) NOT NULL,
  avatar           VARBINARY(512) NOT NULL DEFAULT '',
  intro            VARCHAR(1024) NOT NULL DEFAULT '',
  owner_id         BIGINT NOT NULL,
  state            TINYINT NOT NULL DEFAULT 1 COMMENT '1 = normal, 2 = dissolved',
  mute_all         TINYINT NOT NULL DEFAULT 0,
  join_approval    TINYINT NOT NULL DEFAULT 0,
  member_invite    TINYINT NOT NULL DEFAULT 1,
  version          BIGINT NOT NULL DEFAULT 1 COMMENT 'raised by every governance command (GRP-06)',
  created_at       DATETIME(3) NOT NULL,
  updated_at       DATETIME(3) NOT NULL
);

CREATE TABLE t_conversation_members (
  id                BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  conversation_id   BIGINT NOT NULL,
  user_id           BIGINT NOT NULL,
  role              TINYINT NOT NULL DEFAULT 3 COMMENT '1 = owner, 2 = admin, 3 = member',
  present           TINYINT NOT NULL DEFAULT 1 COMMENT '0 = left; the row stays',
  last_read_msg_id  BIGINT NOT NULL DEFAULT 0 COMMENT 'truth of the read state (MSG-51)',
  joined_at         DATETIME(3) NOT NULL,
  muted             TINYINT NOT NULL DEFAULT 0 COMMENT 'do not disturb, by the member himself',
  pinned_at         DATETIME(3) NULL,
  UNIQUE KEY uk_conversation_members (conversation_id, user_id),
  KEY idx_user_id (user_id)
);

CREATE TABLE t_member_intervals (
  conversation_id  BIGINT NOT NULL,
  user_id          BIGINT NOT NULL,
  join_change_id   BIGINT NOT NULL,
  left_change_id   BIGINT NULL COMMENT 'NULL = still a member',
  PRIMARY KEY (conversation_id, user_id, join_change_id)
) COMMENT='Who was a member between which changes. Recipients, history, sync and unread are clipped to it.';

CREATE TABLE im_group_mutes (
  conversation_id  BIGINT NOT NULL,
  user_id          BIGINT NOT NULL,
  expires_at       DATETIME(3) NULL COMMENT 'NULL = until lifted',
  reason           VARCHAR(255) NOT NULL DEFAULT '',
  actor_user_id    BIGINT NOT NULL,
  created_at       DATETIME(3) NOT NULL,
  PRIMARY KEY (conversation_id, user_id)
) COMMENT='Members silenced in one group (GRP-05).';

CREATE TABLE t_messages (
  id                BIGINT NOT NULL PRIMARY KEY COMMENT 'MsgId: primary key, order and sync cursor',
  conversation_id   BIGINT NOT NULL,
  sender_id         BIGINT NOT NULL,
  sender_device_id  BIGINT NOT NULL DEFAULT 0,
  client_msg_id     VARBINARY(64) NOT NULL COMMENT 'with sender and conversation the idempotency key, compared as bytes',
  message_type      SMALLINT NOT NULL COMMENT '1 text 2 image 3 voice 4 video 5 sticker 6 GIF 7 file 8 location 9 system',
  content           MEDIUMBLOB NOT NULL COMMENT 'JSON bytes exactly as received',
  content_hash      BINARY(32) NOT NULL COMMENT 'SHA-256 of type and content as received; never changed',
  status            TINYINT NOT NULL DEFAULT 1 COMMENT '1 normal 2 recalled 3 hidden by review',
  status_change_id  BIGINT NOT NULL DEFAULT 0 COMMENT 'the change that set the status; 0 = still as sent',
  prev_msg_id       BIGINT NOT NULL DEFAULT 0,
  prev_change_id    BIGINT NOT NULL DEFAULT 0,
  not_push          TINYINT NOT NULL DEFAULT 0,
  created_at        DATETIME(3) NOT NULL,
  UNIQUE KEY uk_sender_conv_client_msg (sender_id, conversation_id, client_msg_id),
  KEY idx_conversation_id (conversation_id, id)
) COMMENT='Message bodies; they live nowhere else (INV-12).';

CREATE TABLE t_conversation_changes (
  conversation_id  BIGINT NOT NULL,
  change_id        BIGINT NOT NULL,
  prev_change_id   BIGINT NOT NULL,
  kind             TINYINT NOT NULL COMMENT '2 EDIT 3 RECALL 4 HIDE 5 REACTION 6 MEMBER 7 GOVERNANCE (1 MESSAGE is a row of t_messages)',
  msg_id           BIGINT NULL,
  actor_id         BIGINT NOT NULL,
  payload          VARBINARY(8192) NOT NULL COMMENT 'JSON; no message body',
  created_at       DATETIME(3) NOT NULL,
  PRIMARY KEY (conversation_id, change_id)
) COMMENT='Every committed change of a conversation that is not a message.';

CREATE TABLE t_mailbox_seqs (
  user_id  BIGINT NOT NULL PRIMARY KEY,
  seq      BIGINT NOT NULL
) COMMENT='One rising sequence a user, advanced under its row lock.';

CREATE TABLE t_mailbox_events (
  id               BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  user_id          BIGINT NOT NULL,
  device_id        BIGINT NOT NULL COMMENT '0 = all devices of the user',
  seq              BIGINT NOT NULL,
  event_type       SMALLINT NOT NULL COMMENT '1 RECALL 2 KICK 3 MEMBER 4 FRIEND 5 MISSED_MESSAGE',
  conversation_id  BIGINT NOT NULL DEFAULT 0,
  change_id        BIGINT NOT NULL DEFAULT 0 COMMENT '0 for MISSED_MESSAGE: one dirty mark a conversation, its seq moves',
  payload          VARBINARY(4096) NULL COMMENT 'ids only, no body',
  created_at       DATETIME(3) NOT NULL,
  UNIQUE KEY uk_user_device_seq (user_id, device_id, seq),
  UNIQUE KEY uk_once (user_id, device_id, event_type, conversation_id, change_id)
) COMMENT='What could not be pushed, and control events (INV-13).';

CREATE TABLE t_device_sync_cursors (
  id            BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  user_id       BIGINT NOT NULL,
  device_id     BIGINT NOT NULL,
  mailbox_seq   BIGINT NOT NULL DEFAULT 0,
  dialog_score  BIGINT NOT NULL DEFAULT 0,
  updated_at    DATETIME(3) NOT NULL,
  UNIQUE KEY uk_user_device (user_id, device_id)
);

CREATE VIEW im_messages AS
  SELECT m.id AS seq_id, m.conversation_id, m.sender_id, m.client_msg_id, m.message_type, m.content, m.status, m.created_at
    FROM t_messages m JOIN t_conversations c ON c.id = m.conversation_id AND c.type = 1;

CREATE VIEW im_group_messages AS
  SELECT m.id AS seq_id, m.conversation_id, m.sender_id, m.client_msg_id, m.message_type, m.content, m.status, m.created_at
    FROM t_messages m JOIN t_conversations c ON c.id = m.conversation_id AND c.type = 2;
