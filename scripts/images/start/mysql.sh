#!/bin/sh
# MySQL in its container, as the user of its data. The first start fills the data directory under another name and renames it, so a start
# that was killed half-way begins anew. `root` is locked; `migrate`, the one account with every right, has its own secret.
set -eu
volume=/var/lib/mysql
config=/appliance/rendered/current/mysql.cnf
accounts=/run/mysqld/accounts.sql
umask 077

mkdir -p "$volume/tmp"
if [ ! -d "$volume/data" ]; then
  rm -rf "$volume/data.building"
  password=$(cat /appliance/state/mysql/migrate)
  {
    echo "CREATE USER 'migrate'@'%' IDENTIFIED BY '$password';"
    echo "GRANT ALL ON *.* TO 'migrate'@'%' WITH GRANT OPTION;"
    echo "ALTER USER 'root'@'localhost' ACCOUNT LOCK;"
  } > "$accounts"
  # Nobody could use what it writes so far, so there is nothing to keep safe.
  mysqld --defaults-file="$config" --initialize-insecure --datadir="$volume/data.building" --init-file="$accounts" \
    --disable-log-bin --innodb-flush-log-at-trx-commit=0 --sync-binlog=0
  rm "$accounts"
  mv "$volume/data.building" "$volume/data"
fi
exec mysqld --defaults-file="$config"
