#!/bin/sh
# Installs the Debian packages that a list names, in the upstream versions that it pins; used while an image is built.
#   install_packages.sh LIST...
# SNAPSHOT=20261101T000000Z takes them from snapshot.debian.org as they were at that time: then a build can be repeated
# byte for byte of packages. Without it security updates of the pinned versions come in.
set -eu
if [ -n "${SNAPSHOT:-}" ]; then
  rm -f /etc/apt/sources.list.d/*
  base=http://snapshot.debian.org/archive
  cat >/etc/apt/sources.list <<TEXT
deb [check-valid-until=no] $base/debian/$SNAPSHOT bookworm main
deb [check-valid-until=no] $base/debian/$SNAPSHOT bookworm-updates main
deb [check-valid-until=no] $base/debian-security/$SNAPSHOT bookworm-security main
TEXT
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
# shellcheck disable=SC2046  # one word a package
apt-get install -y --no-install-recommends $(grep -hv '^#' "$@")
rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/cache/ldconfig
