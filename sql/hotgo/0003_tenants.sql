-- Which tenants there are and whether they may be used; im-core asks for it at /internal/im-config, and every question is written down.
CREATE TABLE admin_tenants (
  code            VARBINARY(32) NOT NULL PRIMARY KEY COMMENT 'as in the settings of the appliance',
  database_name   VARBINARY(64) NOT NULL COMMENT 'im_<code>',
  state           ENUM('active','disabled','removed') NOT NULL DEFAULT 'active' COMMENT 'disabled = closed by an administrator, removed = no longer in the settings',
  config_version  BIGINT NOT NULL DEFAULT 1 COMMENT 'raised with every change; readers keep the highest',
  created_at      DATETIME(3) NOT NULL,
  updated_at      DATETIME(3) NOT NULL,
  KEY idx_state (state, code)
) COMMENT='Tenants. Rows come from the settings when migrate runs and are never deleted.';

CREATE TABLE admin_internal_audit (
  id          BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  request_id  VARBINARY(128) NOT NULL,
  service     VARBINARY(64) NOT NULL COMMENT 'as proved, or as claimed where the proof failed',
  key_id      VARBINARY(64) NOT NULL DEFAULT '' COMMENT 'empty when no key fitted',
  method      VARBINARY(8) NOT NULL,
  path        VARBINARY(512) NOT NULL,
  status      SMALLINT NOT NULL,
  outcome     VARBINARY(64) NOT NULL DEFAULT '' COMMENT 'stable reason word, empty on success',
  real_ip     VARBINARY(45) NOT NULL DEFAULT '',
  created_at  DATETIME(3) NOT NULL,
  KEY idx_created_at (created_at)
) COMMENT='Every call of /internal/im-config, allowed or not (SIG-16). Rows are only added.';
