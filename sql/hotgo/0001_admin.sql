-- The back office: administrators, what they ordered and who saw it, events in and out.
CREATE TABLE t_leases (
  name         VARBINARY(64) NOT NULL PRIMARY KEY COMMENT 'what is held, e.g. relay:hotgo',
  owner        VARBINARY(128) NOT NULL COMMENT 'service, host and process, for people',
  token        BINARY(16) NOT NULL COMMENT 'random; every effect compares it',
  expires_at   DATETIME(3) NOT NULL,
  KEY idx_expires_at (expires_at)
) COMMENT='One fenced lease a row, as in the control database.';

CREATE TABLE admin_users (
  id             BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name           VARCHAR(64) COLLATE utf8mb4_0900_as_ci NOT NULL,
  display_name   VARCHAR(64) NOT NULL DEFAULT '',
  role           VARBINARY(32) NOT NULL COMMENT 'word of the table of roles',
  password_hash  VARBINARY(255) NOT NULL COMMENT 'self-describing scrypt string',
  state          TINYINT NOT NULL DEFAULT 1 COMMENT '1 = may log in, 2 = locked',
  auth_version   BIGINT NOT NULL DEFAULT 1 COMMENT 'tokens of another version are refused',
  created_at     DATETIME(3) NOT NULL,
  updated_at     DATETIME(3) NOT NULL,
  UNIQUE KEY uk_name (name)
) COMMENT='Administrators. No user of a tenant is among them.';

CREATE TABLE admin_command (
  id              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  tenant_code     VARBINARY(32) NOT NULL,
  command_id      VARBINARY(128) NOT NULL COMMENT 'chosen by the caller for repeats, or ours',
  fingerprint     BINARY(32) NOT NULL COMMENT 'SHA-256 of event type and canonical payload as it was asked for',
  event_id        VARBINARY(128) NOT NULL COMMENT 'of the envelope that carries the command',
  event_type      VARBINARY(64) NOT NULL,
  biz_type        VARBINARY(64) NOT NULL,
  biz_id          VARBINARY(128) NOT NULL COMMENT 'the object, e.g. grp42',
  envelope        MEDIUMBLOB NOT NULL COMMENT 'as sent; sent again while no result comes',
  status          ENUM('pending','running','succeeded','failed','dead') NOT NULL DEFAULT 'pending',
  reason          VARBINARY(64) NOT NULL DEFAULT '' COMMENT 'stable word, empty on success',
  message         VARCHAR(500) NOT NULL DEFAULT '',
  result          MEDIUMBLOB NULL COMMENT 'JSON of the result, NULL until there is one',
  replay_no       INT NOT NULL DEFAULT 0 COMMENT 'raised when a dead command is played again',
  attempts        INT NOT NULL DEFAULT 1 COMMENT 'how often the envelope was queued',
  next_resend_at  DATETIME(3) NULL COMMENT 'when it is queued again without a result; NULL = final',
  operator_id     BIGINT NOT NULL COMMENT 'admin_users.id',
  operator_name   VARCHAR(64) NOT NULL,
  trace_id        VARBINARY(128) NOT NULL,
  created_at      DATETIME(3) NOT NULL,
  updated_at      DATETIME(3) NOT NULL,
  finished_at     DATETIME(3) NULL,
  UNIQUE KEY uk_command (tenant_code, command_id),
  UNIQUE KEY uk_event (event_id),
  KEY idx_status (status, id),
  KEY idx_object (tenant_code, biz_type, biz_id, id),
  KEY idx_trace (trace_id),
  KEY idx_resend (next_resend_at)
) COMMENT='The ledger of operations on tenants: pending until im-core has answered (CMD-12).';

CREATE TABLE admin_outbox (
  id             BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  shard          TINYINT UNSIGNED NOT NULL COMMENT 'hash(order_key) mod 16',
  topic          VARBINARY(128) NOT NULL,
  order_key      VARBINARY(255) NOT NULL COMMENT 'Kafka key; whoever inserts a row holds the lock of the object it names',
  event_id       VARBINARY(128) NOT NULL,
  envelope       MEDIUMBLOB NOT NULL COMMENT 'record value as bytes',
  trace_id       VARBINARY(128) NOT NULL,
  status         ENUM('pending','failed','sent','dead') NOT NULL DEFAULT 'pending',
  retry_count    INT NOT NULL DEFAULT 0,
  last_error     VARCHAR(500) NOT NULL DEFAULT '',
  next_retry_at  DATETIME(3) NOT NULL,
  created_at     DATETIME(3) NOT NULL,
  sent_at        DATETIME(3) NULL,
  UNIQUE KEY uk_event (event_id),
  KEY k_claim (shard, status, id)
) COMMENT='Events that commit with the order and are sent afterwards; the same columns as im_kafka_outbox.';

CREATE TABLE admin_kafka_consume_log (
  consumer_group  VARBINARY(128) NOT NULL,
  event_id        VARBINARY(128) NOT NULL,
  topic           VARBINARY(128) NOT NULL,
  partition_no    INT NOT NULL,
  record_offset   BIGINT NOT NULL,
  order_key       VARBINARY(255) NOT NULL,
  status          ENUM('processing','succeeded','failed','dead') NOT NULL,
  retry_count     INT NOT NULL DEFAULT 0,
  last_error      VARCHAR(500) NOT NULL DEFAULT '',
  created_at      DATETIME(3) NOT NULL,
  updated_at      DATETIME(3) NOT NULL,
  PRIMARY KEY (consumer_group, event_id),
  KEY idx_status (consumer_group, status, updated_at)
) COMMENT='One row per event and group; the same columns as im_kafka_consume_log.';

CREATE TABLE admin_kafka_quarantine (
  id              BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  consumer_group  VARBINARY(128) NOT NULL,
  topic           VARBINARY(128) NOT NULL,
  partition_no    INT NOT NULL,
  record_offset   BIGINT NOT NULL,
  reason          VARBINARY(64) NOT NULL COMMENT 'stable word: UNREADABLE, BAD_SIGNATURE, ...',
  detail          VARCHAR(500) NOT NULL DEFAULT '',
  record_key      VARBINARY(1024) NULL,
  record_value    MEDIUMBLOB NULL,
  record_headers  MEDIUMBLOB NULL,
  created_at      DATETIME(3) NOT NULL,
  UNIQUE KEY uk_record (consumer_group, topic, partition_no, record_offset)
) COMMENT='Records that cannot be read or proved; the back office has no key to the control database.';

CREATE TABLE admin_audit_log (
  id           BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  admin_id     BIGINT NOT NULL DEFAULT 0 COMMENT '0 = nobody was recognised',
  admin_name   VARCHAR(64) NOT NULL DEFAULT '' COMMENT 'as known, or as claimed at a login',
  action       VARBINARY(64) NOT NULL COMMENT 'login, command.create, group.read, ...',
  tenant_code  VARBINARY(32) NOT NULL DEFAULT '',
  object       VARBINARY(255) NOT NULL DEFAULT '' COMMENT 'e.g. grp42 or a command id',
  outcome      VARBINARY(64) NOT NULL DEFAULT '' COMMENT 'stable reason word, empty on success',
  detail       VARCHAR(500) NOT NULL DEFAULT '',
  trace_id     VARBINARY(128) NOT NULL,
  real_ip      VARBINARY(45) NOT NULL DEFAULT '',
  created_at   DATETIME(3) NOT NULL,
  KEY idx_created_at (created_at),
  KEY idx_admin (admin_id, id),
  KEY idx_trace (trace_id)
) COMMENT='Every action of an administrator, refused ones too. Rows are only added.';
