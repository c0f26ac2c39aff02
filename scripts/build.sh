#!/usr/bin/env bash
# Configures and builds one preset, quietly unless something fails.
#   scripts/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/build.sh PRESET [TARGET...]}
shift
# Two at once would write the same files.
mkdir -p build
exec 9>"build/$preset.lock"
flock 9
log=$(mktemp)
trap 'rm -f "$log"' EXIT
targets=()
[ $# -gt 0 ] && targets=(--target "$@")
if ! { cmake --preset "$preset" && cmake --build --preset "$preset" "${targets[@]}"; } >"$log" 2>&1; then
  tail -n 60 "$log" >&2
  echo "build: preset $preset failed" >&2
  exit 1
fi
