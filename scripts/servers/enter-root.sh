#!/bin/sh
# enter-root.sh [--pipe] ROOT UID BIND... -- COMMAND ARGUMENT...
#
# Becomes COMMAND (the same process id) as user and group UID, in a root of its own that shows
#   the programs of the server root ROOT, read-only, so that no server can change what all appliances share, and a copy of its /etc;
#   each directory or file BIND at the same path as outside, so that one configuration text holds on both sides;
#   /var/tmp of the machine, for temporary files that may be large, and an empty /run, /tmp and /var.
# The directories above a BIND are new, so a server user needs no right to pass through the real ones.
# The mounts are seen by this process and its children alone and vanish with them. COMMAND gets SIGTERM when its parent dies.
# With --pipe its output goes through a real pipe, so that it may open /dev/stdout by name; what our caller gives us is a socket.
set -eu

if [ "$1" != --inside ]; then
  exec unshare --mount --propagation private -- /bin/sh "$0" --inside "$@"
fi
shift

is_piped=
if [ "$1" = --pipe ]; then
  is_piped=yes
  shift
fi
root=$1 uid=$2
shift 2
new=$root/skeleton

mount -t tmpfs -o mode=755,size=256m tmpfs "$new"
for name in usr etc proc dev tmp run var var/lib var/log var/tmp var/lib/nginx var/log/nginx; do mkdir "$new/$name"; done
chmod 1777 "$new/run" "$new/tmp"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$new/$name"; done
mount --bind -o ro "$root/usr" "$new/usr"
cp -a "$root/etc/." "$new/etc/" # A copy: an operator's certificates may lie below /etc.
mount --rbind /proc "$new/proc"
mount --bind /var/tmp "$new/var/tmp"
for name in null zero full random urandom; do
  : > "$new/dev/$name"
  mount --bind "/dev/$name" "$new/dev/$name"
done
ln -s /proc/self/fd "$new/dev/fd"
ln -s /proc/self/fd/1 "$new/dev/stdout"
ln -s /proc/self/fd/2 "$new/dev/stderr"

while [ "$1" != -- ]; do
  if [ -d "$1" ]; then
    mkdir -p "$new$1"
  else
    mkdir -p "$new${1%/*}"
    : > "$new$1"
  fi
  mount --bind "$1" "$new$1"
  shift
done
shift

ulimit -n 65536 2>/dev/null || true # Many connections; where the machine allows fewer, the servers say so.
cd /
if [ -n "$is_piped" ]; then
  mkfifo -m 600 "$new/run/output"
  cat "$new/run/output" &
  exec > "$new/run/output" 2>&1
fi
exec chroot "$new" /usr/bin/setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs --pdeathsig=TERM -- "$@"
