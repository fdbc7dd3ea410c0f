#!/bin/sh
# Kafka in its container. The first start formats the data directory under another name, with a cluster id of its own, and renames it.
set -eu
volume=/var/lib/kafka/data
config=/appliance/rendered/current/kafka.properties
umask 077

# One small heap: less memory and a quicker start than the concurrent collectors. A broker without memory is worse than one that starts again.
kafka() {
  exec java -Xms64m -Xmx256m -XX:+UseSerialGC -XX:-UsePerfData -XX:+ExitOnOutOfMemoryError \
    -Dlog4j2.configurationFile=/opt/kafka-log4j2.properties -cp '/opt/kafka/libs/*' "$@"
}

if [ ! -d "$volume/log" ]; then
  rm -rf "$volume/log.building"
  cluster=$(head -c 16 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=' | sed 's/^-/A/')
  # The last of two equal keys counts.
  { cat "$config"; echo "log.dirs=$volume/log.building"; } > /tmp/format.properties
  (kafka kafka.tools.StorageTool format --cluster-id "$cluster" --config /tmp/format.properties)
  mv "$volume/log.building" "$volume/log"
fi
kafka kafka.Kafka "$config"
