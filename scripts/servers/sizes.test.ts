import assert from 'node:assert/strict';
import { kafkaProperties } from '#scripts/configure/render/kafka.ts';
import { mysqlConfig } from '#scripts/configure/render/mysql.ts';
import { redisConfig } from '#scripts/configure/render/redis.ts';
import { WRITER_LIMITS } from '#shared/tenant/message/message-writer.ts';
import { mysqlSection } from '#shared/platform/mysql/config.ts';
import { KAFKA_HEAP_MIB } from './kafka.ts';
import { HEAP_MIB } from './plan.ts';

const MACHINE_MIB = 4_096;
/** What the kernel, its file cache and an operator's shell need. */
const SYSTEM_MIB = 512;
/** Beside its heap: code, stacks, buffers on their way. */
const NODE_EXTRA_MIB = 96;
const JAVA_EXTRA_MIB = 160;
/** MySQL without its buffer pool, and a connection at work. */
const MYSQL_BASE_MIB = 220;
const MYSQL_CONNECTION_MIB = 1;

const place = { generated: 'x', dataDirectory: '/d', socketPath: '/s' };

function mebibytesIn(text: string, setting: RegExp): number {
  const [, size = ''] = setting.exec(text) ?? [];
  assert.match(size, /^\d+$/, String(setting));
  return Number(size);
}

describe('sizes of the parts', () => {
  const mysql = mysqlConfig(place);
  const redis = redisConfig(place);
  const connections = mebibytesIn(mysql, /^max-connections=(\d+)$/m);

  it('fit a machine of 4 GiB, all at their limit', () => {
    const parts = {
      mysql:
        MYSQL_BASE_MIB +
        mebibytesIn(mysql, /^innodb-buffer-pool-size=(\d+)M$/m) +
        mebibytesIn(mysql, /^innodb-log-buffer-size=(\d+)M$/m) +
        connections * MYSQL_CONNECTION_MIB,
      redis: mebibytesIn(redis, /^maxmemory (\d+)mb$/m) * 1.25, // the copy of its log is written by a fork
      kafka: KAFKA_HEAP_MIB + JAVA_EXTRA_MIB,
      nginx: 64,
      ...Object.fromEntries(Object.entries(HEAP_MIB).map(([name, heap]) => [name, heap + NODE_EXTRA_MIB])),
    };
    const sum = Object.values(parts).reduce((total, size) => total + size, 0);
    const figures = Object.entries({ ...parts, sum }).map(([name, size]) => `${name} ${Math.round(size)}`);
    process.stdout.write(`    ${figures.join(', ')} MiB
`);
    assert.ok(sum + SYSTEM_MIB <= MACHINE_MIB, `${Math.round(sum)} MiB`);
  });

  it('let Redis refuse rather than forget, and tell the truth about the heap of Kafka', () => {
    assert.match(redis, /^maxmemory-policy noeviction$/m);
    assert.match(
      kafkaProperties({ generated: 'x', dataDirectory: '/d', port: 1, controllerPort: 2 }),
      new RegExp(`heap is ${KAFKA_HEAP_MIB} MiB`),
    );
  });

  it('leave connections of MySQL for an operator when every pool of a tenant is full', () => {
    const { default: pool } = mysqlSection.pool_size;
    assert.equal(typeof pool, 'number');
    const ofTenant = Number(pool) + WRITER_LIMITS.lanes + Number(pool); // im-core, its writers, outbox-and-cron
    const shared = 3 + Number(pool) + Number(pool); // control of both, hotgo
    assert.ok(shared + ofTenant + 10 <= connections, `${shared + ofTenant} of ${connections}`);
  });
});
