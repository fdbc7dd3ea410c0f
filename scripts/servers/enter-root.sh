#!/bin/sh
# enter-root.sh ROOT UID BIND... -- COMMAND ARGUMENT...
#
# Becomes COMMAND (the same process id) as user and group UID, in a root of its own that shows
#   the programs and /etc of the server root ROOT, read-only, so that no server can change what all appliances share;
#   each directory BIND at the same path as outside, so that one configuration text holds on both sides;
#   /var/tmp of the machine, for temporary files that may be large, and an empty /run, /tmp and /var.
# The directories above a BIND are new, so a server user needs no right to pass through the real ones.
# The mounts are seen by this process and its children alone and vanish with them. COMMAND gets SIGTERM when its parent dies.
set -eu

if [ "$1" != --inside ]; then
  exec unshare --mount --propagation private -- /bin/sh "$0" --inside "$@"
fi
shift

root=$1 uid=$2
shift 2
new=$root/skeleton

mount -t tmpfs -o mode=755,size=256m tmpfs "$new"
for name in usr etc proc dev tmp run var var/lib var/log var/tmp var/lib/nginx var/log/nginx; do mkdir "$new/$name"; done
chmod 1777 "$new/run" "$new/tmp"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$new/$name"; done
for name in usr etc; do mount --bind -o ro "$root/$name" "$new/$name"; done
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
  mkdir -p "$new$1"
  mount --bind "$1" "$new$1"
  shift
done
shift

ulimit -n 65536 2>/dev/null || true # Many connections; where the machine allows fewer, the servers say so.
cd /
exec chroot "$new" /usr/bin/setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs --pdeathsig=TERM -- "$@"
