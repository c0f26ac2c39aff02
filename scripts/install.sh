#!/usr/bin/env bash
# Installs the Debian packages that building, serving and testing need, those that are missing only.
#   scripts/install.sh [--quiet] [PACKAGE...]        with these besides
set -euo pipefail

packages=(
  # build
  g++ make cmake ninja-build ccache pkg-config
  # libraries
  libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libtbb-dev libcpp-httplib-dev
  nlohmann-json3-dev prometheus-cpp-dev libpcre2-dev libssl-dev zlib1g-dev
  # tests and scripts
  libgtest-dev libgmock-dev python3 python3-venv python3-numpy curl ca-certificates procps util-linux
)

quiet=0
if [ "${1:-}" = --quiet ]; then
  quiet=1
  shift
fi
packages+=("$@")

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  [ $quiet = 1 ] || echo "install: everything is there"
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "install: no apt-get here; these Debian packages are needed: ${missing[*]}" >&2
  exit 2
fi
as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install: not root and no sudo; run as root: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi

echo "install: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { "${as_root[@]}" apt-get update -q && "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  echo "install: apt-get failed, see above" >&2
  exit 2
fi
