-- One row an object that orders are about; its lock gives the orders of one object the order of their commits.
CREATE TABLE admin_command_objects (
  order_key  VARBINARY(255) NOT NULL PRIMARY KEY COMMENT 'tenant and object, the Kafka key of its orders',
  orders     BIGINT NOT NULL DEFAULT 0
) COMMENT='Mutex of an object of a tenant, as the back office sees it.';
