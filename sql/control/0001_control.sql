-- What belongs to no tenant: who holds which lease, and which worker id may number messages.
CREATE TABLE t_leases (
  name         VARBINARY(64) NOT NULL PRIMARY KEY COMMENT 'what is held, e.g. relay:im_default',
  owner        VARBINARY(128) NOT NULL COMMENT 'service, host and process, for people',
  token        BINARY(16) NOT NULL COMMENT 'random; every effect compares it',
  expires_at   DATETIME(3) NOT NULL,
  KEY idx_expires_at (expires_at)
) COMMENT='One fenced lease a row. A holder that stalls loses it and notices by the token.';

CREATE TABLE t_worker_ids (
  worker_id       SMALLINT UNSIGNED NOT NULL PRIMARY KEY COMMENT '0-1023, the ten middle bits of a message id',
  owner           VARBINARY(128) NOT NULL,
  token           BINARY(16) NOT NULL,
  expires_at      DATETIME(3) NOT NULL,
  reserved_until  BIGINT NOT NULL DEFAULT 0 COMMENT 'ms since 2024-01-01Z that ids of this worker may already have used'
) COMMENT='Leased worker ids with the persisted high-water mark of their clock (MSG-05, MSG-06).';

CREATE TABLE im_kafka_quarantine (
  id              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  consumer_group  VARBINARY(128) NOT NULL,
  topic           VARBINARY(128) NOT NULL,
  partition_no    INT NOT NULL,
  record_offset   BIGINT NOT NULL,
  reason          VARBINARY(64) NOT NULL COMMENT 'stable word: UNREADABLE, UNKNOWN_TENANT, BAD_SIGNATURE, ...',
  detail          VARCHAR(500) NOT NULL DEFAULT '',
  record_key      VARBINARY(1024) NULL,
  record_value    MEDIUMBLOB NULL,
  record_headers  MEDIUMBLOB NULL,
  created_at      DATETIME(3) NOT NULL,
  UNIQUE KEY uk_record (consumer_group, topic, partition_no, record_offset)
) COMMENT='Records that no tenant can be named for, kept as they came.';
