#!/usr/bin/env bash
# Makes /run/hearth, a tmpfs of its own for the expert home, now and at each boot (where systemd runs). As root.
#   scripts/install_home_mount.sh [--size GIB] [--user NAME-OR-UID]
# Default: 111 GiB, the home of GLM-5.3-Flash and 4 GiB, for the user 990, that of the images. The memory is taken only as
# the home is filled. Undo: systemctl disable --now run-hearth.mount, or umount /run/hearth.
set -euo pipefail
size=111 user=990
while [ $# -gt 0 ]; do
  case $1 in
    --size | --user)
      [ -n "${2:-}" ] || { echo "install_home_mount: $1 needs a value; --size GIB, --user NAME-OR-UID" >&2; exit 2; }
      if [ "$1" = --size ]; then size=$2; else user=$2; fi
      shift
      ;;
    *) echo "install_home_mount: no option $1; there are --size and --user" >&2; exit 2 ;;
  esac
  shift
done
# A tmpfs of size 0 would have no limit at all.
[[ $size =~ ^[1-9][0-9]*$ ]] || {
  echo "install_home_mount: --size is \"$size\", expected a whole number of GiB from 1" >&2
  exit 2
}
[ "$(id -u)" = 0 ] || { echo "install_home_mount: only root may mount; use sudo" >&2; exit 2; }
[[ $user =~ ^[0-9]+$ ]] || id -u "$user" >/dev/null || { echo "install_home_mount: no user $user" >&2; exit 2; }
! mountpoint -q /run/hearth || { echo "install_home_mount: /run/hearth is mounted already: $(findmnt -no OPTIONS /run/hearth)"; exit 0; }

# The user of an image is a number that need not be known here; its group has the same.
group=$(id -g "$user" 2>/dev/null) || group=$user
options=size=${size}g,mode=0770,uid=$user,gid=$group,nosuid,nodev,noexec
# Huge pages make a restart quicker; a kernel without them in tmpfs refuses the option.
if grep -q within_size /sys/kernel/mm/transparent_hugepage/shmem_enabled 2>/dev/null; then options+=,huge=within_size; fi
if [ -d /run/systemd/system ]; then
  sed "s/^Options=.*/Options=$options/" "$(dirname "$0")/../deploy/systemd/run-hearth.mount" >/etc/systemd/system/run-hearth.mount
  systemctl daemon-reload
  systemctl enable --now run-hearth.mount
else
  mkdir -p /run/hearth
  mount -t tmpfs -o "$options" hearth /run/hearth
fi
findmnt /run/hearth
