-- Generated from sql/hotgo/*.sql; edits are lost. Made again by: scripts/migrate/write-dumps.ts

CREATE TABLE `admin_audit_log` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `admin_id` bigint NOT NULL DEFAULT '0' COMMENT '0 = nobody was recognised',
  `admin_name` varchar(64) NOT NULL DEFAULT '' COMMENT 'as known, or as claimed at a login',
  `action` varbinary(64) NOT NULL COMMENT 'login, command.create, group.read, ...',
  `tenant_code` varbinary(32) NOT NULL DEFAULT '',
  `object` varbinary(255) NOT NULL DEFAULT '' COMMENT 'e.g. grp42 or a command id',
  `outcome` varbinary(64) NOT NULL DEFAULT '' COMMENT 'stable reason word, empty on success',
  `detail` varchar(500) NOT NULL DEFAULT '',
  `trace_id` varbinary(128) NOT NULL,
  `real_ip` varbinary(45) NOT NULL DEFAULT '',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_created_at` (`created_at`),
  KEY `idx_admin` (`admin_id`,`id`),
  KEY `idx_trace` (`trace_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Every action of an administrator, refused ones too. Rows are only added.';

CREATE TABLE `admin_command` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `tenant_code` varbinary(32) NOT NULL,
  `command_id` varbinary(128) NOT NULL COMMENT 'chosen by the caller for repeats, or ours',
  `fingerprint` binary(32) NOT NULL COMMENT 'SHA-256 of event type and canonical payload as it was asked for',
  `event_id` varbinary(128) NOT NULL COMMENT 'of the envelope that carries the command',
  `event_type` varbinary(64) NOT NULL,
  `biz_type` varbinary(64) NOT NULL,
  `biz_id` varbinary(128) NOT NULL COMMENT 'the object, e.g. grp42',
  `envelope` mediumblob NOT NULL COMMENT 'as sent; sent again while no result comes',
  `status` enum('pending','running','succeeded','failed','dead') NOT NULL DEFAULT 'pending',
  `reason` varbinary(64) NOT NULL DEFAULT '' COMMENT 'stable word, empty on success',
  `message` varchar(500) NOT NULL DEFAULT '',
  `result` mediumblob COMMENT 'JSON of the result, NULL until there is one',
  `replay_no` int NOT NULL DEFAULT '0' COMMENT 'raised when a dead command is played again',
  `attempts` int NOT NULL DEFAULT '1' COMMENT 'how often the envelope was queued',
  `next_resend_at` datetime(3) DEFAULT NULL COMMENT 'when it is queued again without a result; NULL = final',
  `operator_id` bigint NOT NULL COMMENT 'admin_users.id',
  `operator_name` varchar(64) NOT NULL,
  `trace_id` varbinary(128) NOT NULL,
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  `finished_at` datetime(3) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_command` (`tenant_code`,`command_id`),
  UNIQUE KEY `uk_event` (`event_id`),
  KEY `idx_status` (`status`,`id`),
  KEY `idx_object` (`tenant_code`,`biz_type`,`biz_id`,`id`),
  KEY `idx_trace` (`trace_id`),
  KEY `idx_resend` (`next_resend_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='The ledger of operations on tenants: pending until im-core has answered (CMD-12).';

CREATE TABLE `admin_command_objects` (
  `order_key` varbinary(255) NOT NULL COMMENT 'tenant and object, the Kafka key of its orders',
  `orders` bigint NOT NULL DEFAULT '0',
  PRIMARY KEY (`order_key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Mutex of an object of a tenant, as the back office sees it.';

CREATE TABLE `admin_internal_audit` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `request_id` varbinary(128) NOT NULL,
  `service` varbinary(64) NOT NULL COMMENT 'as proved, or as claimed where the proof failed',
  `key_id` varbinary(64) NOT NULL DEFAULT '' COMMENT 'empty when no key fitted',
  `method` varbinary(8) NOT NULL,
  `path` varbinary(512) NOT NULL,
  `status` smallint NOT NULL,
  `outcome` varbinary(64) NOT NULL DEFAULT '' COMMENT 'stable reason word, empty on success',
  `real_ip` varbinary(45) NOT NULL DEFAULT '',
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  KEY `idx_created_at` (`created_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Every call of /internal/im-config, allowed or not (SIG-16). Rows are only added.';

CREATE TABLE `admin_kafka_consume_log` (
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
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='One row per event and group; the same columns as im_kafka_consume_log.';

CREATE TABLE `admin_kafka_quarantine` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `consumer_group` varbinary(128) NOT NULL,
  `topic` varbinary(128) NOT NULL,
  `partition_no` int NOT NULL,
  `record_offset` bigint NOT NULL,
  `reason` varbinary(64) NOT NULL COMMENT 'stable word: UNREADABLE, BAD_SIGNATURE, ...',
  `detail` varchar(500) NOT NULL DEFAULT '',
  `record_key` varbinary(1024) DEFAULT NULL,
  `record_value` mediumblob,
  `record_headers` mediumblob,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_record` (`consumer_group`,`topic`,`partition_no`,`record_offset`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Records that cannot be read or proved; the back office has no key to the control database.';

CREATE TABLE `admin_outbox` (
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
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Events that commit with the order and are sent afterwards; the same columns as im_kafka_outbox.';

CREATE TABLE `admin_tenants` (
  `code` varbinary(32) NOT NULL COMMENT 'as in the settings of the appliance',
  `database_name` varbinary(64) NOT NULL COMMENT 'im_<code>',
  `state` enum('active','disabled','removed') NOT NULL DEFAULT 'active' COMMENT 'disabled = closed by an administrator, removed = no longer in the settings',
  `config_version` bigint NOT NULL DEFAULT '1' COMMENT 'raised with every change; readers keep the highest',
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`code`),
  KEY `idx_state` (`state`,`code`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Tenants. Rows come from the settings when migrate runs and are never deleted.';

CREATE TABLE `admin_users` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `name` varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_ci NOT NULL,
  `display_name` varchar(64) NOT NULL DEFAULT '',
  `role` varbinary(32) NOT NULL COMMENT 'word of the table of roles',
  `password_hash` varbinary(255) NOT NULL COMMENT 'self-describing scrypt string',
  `state` tinyint NOT NULL DEFAULT '1' COMMENT '1 = may log in, 2 = locked',
  `auth_version` bigint NOT NULL DEFAULT '1' COMMENT 'tokens of another version are refused',
  `created_at` datetime(3) NOT NULL,
  `updated_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Administrators. No user of a tenant is among them.';

CREATE TABLE `t_leases` (
  `name` varbinary(64) NOT NULL COMMENT 'what is held, e.g. relay:hotgo',
  `owner` varbinary(128) NOT NULL COMMENT 'service, host and process, for people',
  `token` binary(16) NOT NULL COMMENT 'random; every effect compares it',
  `expires_at` datetime(3) NOT NULL,
  PRIMARY KEY (`name`),
  KEY `idx_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='One fenced lease a row, as in the control database.';
