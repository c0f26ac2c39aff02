#!/usr/bin/env bash
# Installs what scripts/build.sh has built as system services: a user, binaries in /opt/hearth, units, settings, /run/hearth.
#   sudo scripts/install_systemd.sh [--size GIB]      size of the home's tmpfs, default 111
# Starts nothing: put the model's folder into /etc/hearth/hearth.env, then
#   systemctl enable --now hearth-cpu-tier hearth-gpu-worker hearth-gateway
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "install_systemd: needs root; use sudo" >&2; exit 2; }
[ -x build/release/bin/hearth-gateway ] || { echo "install_systemd: nothing is built; run scripts/build.sh release" >&2; exit 2; }
[ -d /run/systemd/system ] || { echo "install_systemd: systemd does not run here; use scripts/serve.sh" >&2; exit 2; }
install -D -m 0644 deploy/systemd/hearth.sysusers /usr/lib/sysusers.d/hearth.conf
systemd-sysusers hearth.conf
install -D -t /opt/hearth/bin build/release/bin/hearth-*
install -D -m 0644 -t /etc/systemd/system deploy/systemd/*.service
[ -e /etc/hearth/hearth.env ] || install -D -m 0640 -g hearth deploy/systemd/hearth.env /etc/hearth/hearth.env
scripts/install_home_mount.sh --user hearth "$@"
systemctl daemon-reload
echo "install_systemd: set HEARTH_MODEL in /etc/hearth/hearth.env, then: systemctl enable --now hearth-cpu-tier hearth-gpu-worker hearth-gateway"
