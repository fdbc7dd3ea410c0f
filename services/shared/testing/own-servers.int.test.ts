import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { openConnection } from '#shared/platform/mysql/connection.ts';
import { freshDatabase } from './database-per-test.ts';
import { freshTopics } from './kafka.ts';
import { startOwnKafka, startOwnMysql, startOwnRedis } from './own-servers.ts';
import { freshRedis } from './redis.ts';
import { testServers } from './servers.ts';

describe('servers for tests', () => {
  it('gives every test a database of its own with the whole schema', async () => {
    const [one, other] = await Promise.all([freshDatabase('tenant'), freshDatabase('tenant')]);
    try {
      await one.open().change(`INSERT INTO t_tenant_state (name, value) VALUES ('mark', 'one')`);
      const rows = await other.open().select(`SELECT name FROM t_tenant_state WHERE name = 'mark'`);
      assert.deepEqual(rows, []);
    } finally {
      await Promise.all([one.drop(), other.drop()]);
    }
    const connection = await openConnection(testServers().mysql);
    const left = await connection.select('SHOW DATABASES LIKE ?', [one.name]);
    await connection.close();
    assert.deepEqual(left, []);
  });

  it('removes the keys of a test and only those', async () => {
    const [one, other] = await Promise.all([freshRedis(), freshRedis()]);
    await one.redis.set(`{${one.code}}:key`, '1');
    await other.redis.set(`{${other.code}}:key`, '1');
    await one.close();
    assert.equal(await other.redis.exists(`{${one.code}}:key`), 0);
    assert.equal(await other.redis.exists(`{${other.code}}:key`), 1);
    await other.close();
  });

  it('makes topics that take a message at once, and refuses others', async () => {
    const topics = await freshTopics(['first'], 2);
    const producer = topics.kafka.producer({ retry: { retries: 0 } });
    await producer.connect();
    await producer.send({ topic: topics.topic('first'), acks: -1, messages: [{ value: 'x' }] });
    await assert.rejects(producer.send({ topic: topics.topic('absent'), acks: -1, messages: [{ value: 'x' }] }));
    await producer.disconnect();
    await topics.remove();
  });

  it('keeps what a private MySQL had committed over a kill', async () => {
    const mysql = await startOwnMysql();
    try {
      const before = mysql.pid;
      const database = await freshDatabase('control', mysql);
      await database.open().change(`INSERT INTO t_leases (name, owner, token, expires_at) VALUES ('a', 'b', RANDOM_BYTES(16), NOW(3))`);
      await mysql.kill();
      await mysql.restart();
      assert.notEqual(mysql.pid, before);
      const connection = await openConnection(mysql, database.name);
      assert.equal((await connection.select('SELECT name FROM t_leases')).length, 1);
      await connection.close();
      await database.drop();
    } finally {
      await mysql.stop();
    }
  });

  it('pauses and resumes a private Redis, and leaves no directory', async () => {
    const server = await startOwnRedis();
    const own = await freshRedis(server);
    server.pause();
    await assert.rejects(own.redis.set('key', '1'), /timed out/);
    server.resume();
    assert.equal(await own.redis.get('key'), '1'); // The refused command had been sent: its effect was unknown, not undone.
    await own.close();
    await server.stop();
    await assert.rejects(access(dirname(dirname(server.path))));
  });

  it('brings a killed Kafka back under the same address', async () => {
    const kafka = await startOwnKafka();
    await kafka.kill();
    await kafka.restart();
    const topics = await freshTopics(['again'], 1, kafka.brokers);
    await topics.remove();
    await kafka.stop();
  });
});
