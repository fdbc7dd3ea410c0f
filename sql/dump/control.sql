-- Generated from sql/control/*.sql; edits are lost. Made again by: scripts/migrate/write-dumps.ts

CREATE TABLE `im_kafka_quarantine` (
  `id` bigint NOT NULL AUTO_INCREMENT,
  `consumer_group` varbinary(128) NOT NULL,
  `topic` varbinary(128) NOT NULL,
  `partition_no` int NOT NULL,
  `record_offset` bigint NOT NULL,
  `reason` varbinary(64) NOT NULL COMMENT 'stable word: UNREADABLE, UNKNOWN_TENANT, BAD_SIGNATURE, ...',
  `detail` varchar(500) NOT NULL DEFAULT '',
  `record_key` varbinary(1024) DEFAULT NULL,
  `record_value` mediumblob,
  `record_headers` mediumblob,
  `created_at` datetime(3) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `uk_record` (`consumer_group`,`topic`,`partition_no`,`record_offset`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Records that no tenant can be named for, kept as they came.';

CREATE TABLE `t_leases` (
  `name` varbinary(64) NOT NULL COMMENT 'what is held, e.g. relay:im_default',
  `owner` varbinary(128) NOT NULL COMMENT 'service, host and process, for people',
  `token` binary(16) NOT NULL COMMENT 'random; every effect compares it',
  `expires_at` datetime(3) NOT NULL,
  PRIMARY KEY (`name`),
  KEY `idx_expires_at` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='One fenced lease a row. A holder that stalls loses it and notices by the token.';

CREATE TABLE `t_worker_ids` (
  `worker_id` smallint unsigned NOT NULL COMMENT '0-1023, the ten middle bits of a message id',
  `owner` varbinary(128) NOT NULL,
  `token` binary(16) NOT NULL,
  `expires_at` datetime(3) NOT NULL,
  `reserved_until` bigint NOT NULL DEFAULT '0' COMMENT 'ms since 2024-01-01Z that ids of this worker may already have used',
  PRIMARY KEY (`worker_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='Leased worker ids with the persisted high-water mark of their clock (MSG-05, MSG-06).';
