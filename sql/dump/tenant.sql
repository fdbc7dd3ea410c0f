-- Generated from sql/tenant/*.sql; edits are lost. Made again by: scripts/migrate/write-dumps.ts

CREATE TABLE `im_business_events_outbox` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `event_id` varbinary(128) NOT NULL,
  `kind` enum('READ','EVENT','KICK','FRIEND') NOT NULL,
  `order_key` varbinary(255) NOT NULL,
  `conversation_id` bigint NOT NULL DEFAULT '0',
  `user_id` bigint NOT NULL DEFAULT '0' COMMENT 'whom it is for; 0 = the members of the conversation',
  `exclude_device` bigint NOT NULL DEFAULT '0',
  `payload` mediumblob NOT NULL COMMENT 'JSON body of the frame data',
  `trace_id` varbinary(128) NOT NULL,
  `status` enum('pending','done','dead') NOT NULL DEFAULT 'pending',
  `retry_count` int NOT NULL DEFAULT '0',
  `last_error` varchar(500) NOT NULL DEFAULT '',
  `next_retry_at` datetime(3) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `done_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_event` (`event_id`),
  KEY `k_claim` (`status`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Notices for people; committed with the change, finished after hand-over (OBX-14).';

CREATE TABLE `im_group_mutes` (
  `conversation_id` bigint NOT NULL,
  `user_id` bigint NOT NULL,
  `expires_at` datetime(3) DEFAULT NULL COMMENT 'NULL = until lifted',
  `reason` varchar(255) NOT NULL DEFAULT '',
  `actor_user_id` bigint NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`conversation_id`,`user_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Members silenced in one group (GRP-05).';

CREATE TABLE `im_internal_query_audit` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `request_id` varbinary(128) NOT NULL,
  `service` varbinary(64) NOT NULL,
  `key_id` varbinary(64) NOT NULL DEFAULT '',
  `admin_user_id` varbinary(64) NOT NULL DEFAULT '',
  `admin_role` varbinary(64) NOT NULL DEFAULT '',
  `reason` varchar(255) NOT NULL DEFAULT '',
  `method` varbinary(8) NOT NULL,
  `path` varbinary(512) NOT NULL,
  `status` smallint NOT NULL,
  `outcome` varbinary(64) NOT NULL DEFAULT '' COMMENT 'stable reason word, empty on success',
  `real_ip` varbinary(45) NOT NULL DEFAULT '',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_created_at` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Every internal query, allowed or not (QRY-19).';

CREATE TABLE `im_kafka_consume_log` (
  `consumer_group` varbinary(128) NOT NULL,
  `event_id` varbinary(128) NOT NULL,
  `topic` varbinary(128) NOT NULL,
  `partition_no` int NOT NULL,
  `record_offset` bigint NOT NULL,
  `order_key` varbinary(255) NOT NULL,
  `status` enum('processing','succeeded','failed','dead') NOT NULL,
  `retry_count` int NOT NULL DEFAULT '0',
  `last_error` varchar(500) NOT NULL DEFAULT '',
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`consumer_group`,`event_id`),
  KEY `idx_status` (`consumer_group`,`status`,`updated_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='One row per event and group; it commits with the effect (IDM-01).';

CREATE TABLE `im_kafka_operations` (
  `command_id` varbinary(128) NOT NULL,
  `fingerprint` binary(32) NOT NULL COMMENT 'SHA-256 of event type and canonical payload',
  `event_id` varbinary(128) NOT NULL,
  `status` enum('succeeded','failed') NOT NULL,
  `reason` varbinary(64) NOT NULL DEFAULT '',
  `message` varchar(500) NOT NULL DEFAULT '',
  `result` mediumblob NOT NULL COMMENT 'JSON, sent again when the command comes again',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`command_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Outcome of every executed command: same content -> this result again, other content -> COMMAND_DUPLICATED.';

CREATE TABLE `im_kafka_outbox` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `shard` tinyint unsigned NOT NULL COMMENT 'hash(order_key) mod 16',
  `topic` varbinary(128) NOT NULL,
  `order_key` varbinary(255) NOT NULL COMMENT 'Kafka key; whoever inserts a row holds the lock of the object it names',
  `event_id` varbinary(128) NOT NULL,
  `envelope` mediumblob NOT NULL COMMENT 'record value as bytes',
  `trace_id` varbinary(128) NOT NULL,
  `status` enum('pending','failed','sent','dead') NOT NULL DEFAULT 'pending',
  `retry_count` int NOT NULL DEFAULT '0',
  `last_error` varchar(500) NOT NULL DEFAULT '',
  `next_retry_at` datetime(3) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `sent_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_event` (`event_id`),
  KEY `k_claim` (`shard`,`status`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Events that commit with the business change and are sent afterwards (OBX-08).';

CREATE TABLE `t_blacklist` (
  `user_id` bigint NOT NULL,
  `blocked_id` bigint NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`user_id`,`blocked_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='One direction a row; either direction stops a P2P send.';

CREATE TABLE `t_conversation_changes` (
  `conversation_id` bigint NOT NULL,
  `change_id` bigint NOT NULL,
  `prev_change_id` bigint NOT NULL,
  `kind` tinyint NOT NULL COMMENT '2 EDIT 3 RECALL 4 HIDE 5 REACTION 6 MEMBER 7 GOVERNANCE (1 MESSAGE is a row of t_messages)',
  `msg_id` bigint DEFAULT NULL,
  `actor_id` bigint NOT NULL,
  `payload` varbinary(8192) NOT NULL COMMENT 'JSON; no message body',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`conversation_id`,`change_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Every committed change of a conversation that is not a message.';

CREATE TABLE `t_conversation_members` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `conversation_id` bigint NOT NULL,
  `user_id` bigint NOT NULL,
  `role` tinyint NOT NULL DEFAULT '3' COMMENT '1 = owner, 2 = admin, 3 = member',
  `present` tinyint NOT NULL DEFAULT '1' COMMENT '0 = left; the row stays',
  `last_read_msg_id` bigint NOT NULL DEFAULT '0' COMMENT 'truth of the read state (MSG-51)',
  `joined_at` datetime(3) NOT NULL,
  `muted` tinyint NOT NULL DEFAULT '0' COMMENT 'do not disturb, by the member himself',
  `pinned_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_conversation_members` (`conversation_id`,`user_id`),
  KEY `idx_user_id` (`user_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;

CREATE TABLE `t_conversations` (
  `id` bigint NOT NULL,
  `type` tinyint NOT NULL COMMENT '1 = P2P, 2 = GROUP',
  `last_msg_id` bigint NOT NULL DEFAULT '0',
  `last_msg_at` datetime(3) NOT NULL,
  `last_change_id` bigint NOT NULL DEFAULT '0' COMMENT 'head of the chain of changes',
  `last_change_at` datetime(3) NOT NULL,
  `member_version` bigint NOT NULL DEFAULT '1' COMMENT 'raised by every change of members, roles, mutes, friendship and blacklist',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_last_change` (`last_change_at`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='The row is also the mutex of its conversation.';

CREATE TABLE `t_device_sync_cursors` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `user_id` bigint NOT NULL,
  `device_id` bigint NOT NULL,
  `mailbox_seq` bigint NOT NULL DEFAULT '0',
  `dialog_score` bigint NOT NULL DEFAULT '0',
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_user_device` (`user_id`,`device_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;

CREATE TABLE `t_devices` (
  `user_id` bigint NOT NULL,
  `device_id` bigint NOT NULL COMMENT '1 .. 2^63-1, chosen by the client',
  `platform` varbinary(32) NOT NULL DEFAULT '',
  `auth_version` bigint NOT NULL DEFAULT '1' COMMENT 'raised by a kick of this device',
  `created_at` datetime(3) NOT NULL,
  `last_seen_at` datetime(3) NOT NULL,
  PRIMARY KEY (`user_id`,`device_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Known devices; filled at AUTH.';

CREATE TABLE `t_friends` (
  `user_id` bigint NOT NULL,
  `friend_id` bigint NOT NULL,
  `state` tinyint NOT NULL COMMENT '1 = user_id asked friend_id, 2 = friends; friends have two rows',
  `remark` varchar(64) NOT NULL DEFAULT '',
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`user_id`,`friend_id`),
  KEY `idx_friend` (`friend_id`,`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;

CREATE TABLE `t_groups` (
  `conversation_id` bigint NOT NULL,
  `name` varchar(128) NOT NULL,
  `avatar` varbinary(512) NOT NULL DEFAULT '',
  `intro` varchar(1024) NOT NULL DEFAULT '',
  `owner_id` bigint NOT NULL,
  `state` tinyint NOT NULL DEFAULT '1' COMMENT '1 = normal, 2 = dissolved',
  `mute_all` tinyint NOT NULL DEFAULT '0',
  `join_approval` tinyint NOT NULL DEFAULT '0',
  `member_invite` tinyint NOT NULL DEFAULT '1',
  `version` bigint NOT NULL DEFAULT '1' COMMENT 'raised by every governance command (GRP-06)',
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`conversation_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;

CREATE TABLE `t_mailbox_events` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `user_id` bigint NOT NULL,
  `device_id` bigint NOT NULL COMMENT '0 = all devices of the user',
  `seq` bigint NOT NULL,
  `event_type` smallint NOT NULL COMMENT '1 RECALL 2 KICK 3 MEMBER 4 FRIEND 5 MISSED_MESSAGE',
  `conversation_id` bigint NOT NULL DEFAULT '0',
  `change_id` bigint NOT NULL DEFAULT '0' COMMENT '0 for MISSED_MESSAGE: one dirty mark a conversation, its seq moves',
  `payload` varbinary(4096) DEFAULT NULL COMMENT 'ids only, no body',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_user_device_seq` (`user_id`,`device_id`,`seq`),
  UNIQUE KEY `uk_once` (`user_id`,`device_id`,`event_type`,`conversation_id`,`change_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='What could not be pushed, and control events (INV-13).';

CREATE TABLE `t_mailbox_seqs` (
  `user_id` bigint NOT NULL,
  `seq` bigint NOT NULL,
  PRIMARY KEY (`user_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='One rising sequence a user, advanced under its row lock.';

CREATE TABLE `t_member_intervals` (
  `conversation_id` bigint NOT NULL,
  `user_id` bigint NOT NULL,
  `join_change_id` bigint NOT NULL,
  `left_change_id` bigint DEFAULT NULL COMMENT 'NULL = still a member',
  PRIMARY KEY (`conversation_id`,`user_id`,`join_change_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Who was a member between which changes. Recipients, history, sync and unread are clipped to it.';

CREATE TABLE `t_messages` (
  `id` bigint NOT NULL COMMENT 'MsgId: primary key, order and sync cursor',
  `conversation_id` bigint NOT NULL,
  `sender_id` bigint NOT NULL,
  `sender_device_id` bigint NOT NULL DEFAULT '0',
  `client_msg_id` varbinary(64) NOT NULL COMMENT 'with sender and conversation the idempotency key, compared as bytes',
  `message_type` smallint NOT NULL COMMENT '1 text 2 image 3 voice 4 video 5 sticker 6 GIF 7 file 8 location 9 system',
  `content` mediumblob NOT NULL COMMENT 'JSON bytes exactly as received',
  `content_hash` binary(32) NOT NULL COMMENT 'SHA-256 of type and content as received; never changed',
  `status` tinyint NOT NULL DEFAULT '1' COMMENT '1 normal 2 recalled 3 hidden by review',
  `status_change_id` bigint NOT NULL DEFAULT '0' COMMENT 'the change that set the status; 0 = still as sent',
  `prev_msg_id` bigint NOT NULL DEFAULT '0',
  `prev_change_id` bigint NOT NULL DEFAULT '0',
  `not_push` tinyint NOT NULL DEFAULT '0',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_sender_conv_client_msg` (`sender_id`,`conversation_id`,`client_msg_id`),
  KEY `idx_conversation_id` (`conversation_id`,`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Message bodies; they live nowhere else (INV-12).';

CREATE TABLE `t_p2p_conversations` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `user_small` bigint NOT NULL,
  `user_big` bigint NOT NULL,
  `conversation_id` bigint NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_p2p_users` (`user_small`,`user_big`),
  UNIQUE KEY `uk_conversation` (`conversation_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Two users share one conversation, whoever writes first (MSG-49).';

CREATE TABLE `t_refresh_tokens` (
  `token_hash` binary(32) NOT NULL COMMENT 'SHA-256 of the token; the token itself is never stored',
  `user_id` bigint NOT NULL,
  `device_id` bigint NOT NULL,
  `auth_version` bigint NOT NULL,
  `used_at` datetime(3) DEFAULT NULL COMMENT 'set once; a second use is theft and ends the session',
  `expires_at` datetime(3) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`token_hash`),
  KEY `idx_user` (`user_id`,`device_id`),
  KEY `idx_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;

CREATE TABLE `t_tenant_state` (
  `name` varbinary(64) NOT NULL,
  `value` varbinary(255) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Single values of this tenant, such as sync_epoch (a restore changes it).';

CREATE TABLE `t_users` (
  `id` bigint NOT NULL,
  `name` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_ci NOT NULL COMMENT 'login name',
  `display_name` varchar(64) NOT NULL DEFAULT '',
  `kind` tinyint NOT NULL DEFAULT '1' COMMENT '1 = person, 2 = service user, acts for the back office',
  `password_hash` varbinary(255) NOT NULL COMMENT 'self-describing scrypt string; empty = cannot log in',
  `state` tinyint NOT NULL DEFAULT '1' COMMENT '1 = StateOK, 2 = StateSuspended, 3 = deleted (USR-02)',
  `suspend_reason` varbinary(16) NOT NULL DEFAULT '' COMMENT 'ban | freeze',
  `auth_version` bigint NOT NULL DEFAULT '1' COMMENT 'tokens of a lower version are refused (USR-03)',
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Users of the tenant.';

CREATE SQL SECURITY DEFINER VIEW `im_group_messages` AS select `m`.`id` AS `seq_id`,`m`.`conversation_id` AS `conversation_id`,`m`.`sender_id` AS `sender_id`,`m`.`client_msg_id` AS `client_msg_id`,`m`.`message_type` AS `message_type`,`m`.`content` AS `content`,`m`.`status` AS `status`,`m`.`created_at` AS `created_at`
  from (`t_messages` `m`
  join `t_conversations` `c` on(((`c`.`id` = `m`.`conversation_id`) and (`c`.`type` = 2))));

CREATE SQL SECURITY DEFINER VIEW `im_messages` AS select `m`.`id` AS `seq_id`,`m`.`conversation_id` AS `conversation_id`,`m`.`sender_id` AS `sender_id`,`m`.`client_msg_id` AS `client_msg_id`,`m`.`message_type` AS `message_type`,`m`.`content` AS `content`,`m`.`status` AS `status`,`m`.`created_at` AS `created_at`
  from (`t_messages` `m`
  join `t_conversations` `c` on(((`c`.`id` = `m`.`conversation_id`) and (`c`.`type` = 1))));
