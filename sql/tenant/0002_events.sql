-- Events in and out of this tenant: outbox, consume log, operations, notices, audit of internal queries.
CREATE TABLE im_kafka_outbox (
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
) COMMENT='Events that commit with the business change and are sent afterwards (OBX-08).';

CREATE TABLE im_kafka_consume_log (
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
) COMMENT='One row per event and group; it commits with the effect (IDM-01).';

CREATE TABLE im_kafka_operations (
  command_id    VARBINARY(128) NOT NULL PRIMARY KEY,
  fingerprint   BINARY(32) NOT NULL COMMENT 'SHA-256 of event type and canonical payload',
  event_id      VARBINARY(128) NOT NULL,
  status        ENUM('succeeded','failed') NOT NULL,
  reason        VARBINARY(64) NOT NULL DEFAULT '',
  message       VARCHAR(500) NOT NULL DEFAULT '',
  result        MEDIUMBLOB NOT NULL COMMENT 'JSON, sent again when the command comes again',
  created_at    DATETIME(3) NOT NULL
) COMMENT='Outcome of every executed command: same content -> this result again, other content -> COMMAND_DUPLICATED.';

CREATE TABLE im_business_events_outbox (
  id               BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  event_id         VARBINARY(128) NOT NULL,
  kind             ENUM('READ','EVENT','KICK','FRIEND') NOT NULL,
  order_key        VARBINARY(255) NOT NULL,
  conversation_id  BIGINT NOT NULL DEFAULT 0,
  user_id          BIGINT NOT NULL DEFAULT 0 COMMENT 'whom it is for; 0 = the members of the conversation',
  exclude_device   BIGINT NOT NULL DEFAULT 0,
  payload          MEDIUMBLOB NOT NULL COMMENT 'JSON body of the frame data',
  trace_id         VARBINARY(128) NOT NULL,
  status           ENUM('pending','done','dead') NOT NULL DEFAULT 'pending',
  retry_count      INT NOT NULL DEFAULT 0,
  last_error       VARCHAR(500) NOT NULL DEFAULT '',
  next_retry_at    DATETIME(3) NOT NULL,
  created_at       DATETIME(3) NOT NULL,
  done_at          DATETIME(3) NULL,
  UNIQUE KEY uk_event (event_id),
  KEY k_claim (status, id)
) COMMENT='Notices for people; committed with the change, finished after hand-over (OBX-14).';

CREATE TABLE im_internal_query_audit (
  id             BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  request_id     VARBINARY(128) NOT NULL,
  service        VARBINARY(64) NOT NULL,
  key_id         VARBINARY(64) NOT NULL DEFAULT '',
  admin_user_id  VARBINARY(64) NOT NULL DEFAULT '',
  admin_role     VARBINARY(64) NOT NULL DEFAULT '',
  reason         VARCHAR(255) NOT NULL DEFAULT '',
  method         VARBINARY(8) NOT NULL,
  path           VARBINARY(512) NOT NULL,
  status         SMALLINT NOT NULL,
  outcome        VARBINARY(64) NOT NULL DEFAULT '' COMMENT 'stable reason word, empty on success',
  real_ip        VARBINARY(45) NOT NULL DEFAULT '',
  created_at     DATETIME(3) NOT NULL,
  KEY idx_created_at (created_at)
) COMMENT='Every internal query, allowed or not (QRY-19).';
