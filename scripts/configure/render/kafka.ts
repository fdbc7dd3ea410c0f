/** Kafka's settings: one node that is broker and controller. Topics are made by `migrate` alone. */
export interface KafkaPropertiesOptions {
  /** Completes "generated ..." in the first line. */
  readonly generated: string;
  readonly dataDirectory: string;
  /** Address to listen on. Default 127.0.0.1. */
  readonly address?: string;
  /** Name under which clients reach it. Default: the address. */
  readonly advertisedAddress?: string;
  readonly port: number;
  readonly controllerPort: number;
  /** False only where a power cut may lose data, as in tests. Default true. */
  readonly durable?: boolean;
}

export function kafkaProperties(options: KafkaPropertiesOptions): string {
  const { generated, dataDirectory, address = '127.0.0.1', advertisedAddress = address, port, controllerPort, durable = true } = options;
  return [
    `# generated ${generated}`,
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    `listeners=CLIENT://${address}:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    `advertised.listeners=CLIENT://${advertisedAddress}:${port}`,
    'listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name=CLIENT',
    'controller.listener.names=CONTROLLER',
    `log.dirs=${dataDirectory}`,
    'auto.create.topics.enable=false',
    'num.partitions=1',
    'default.replication.factor=1',
    'min.insync.replicas=1',
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=8',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    '# There is no second replica, so what is acknowledged must be on the disk.',
    ...(durable ? ['log.flush.interval.messages=1'] : []),
    'message.max.bytes=1048576',
    'group.initial.rebalance.delay.ms=0',
    '# Small: the heap is 256 MiB.',
    'num.network.threads=2',
    'num.io.threads=4',
    'background.threads=4',
    'log.cleaner.dedupe.buffer.size=16777216',
    'log.segment.bytes=134217728',
    '# A broker that was killed may come back only when its old session is over.',
    'broker.session.timeout.ms=3000',
    'broker.heartbeat.interval.ms=500',
    '',
  ].join('\n');
}
