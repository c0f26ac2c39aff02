#!/usr/bin/env bash
# Writes docs/config.md and deploy/compose/.env from the binaries' own lists of options.
#   scripts/make_docs.sh [BIN_DIR]        default build/release/bin; `--check` as second argument only compares
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${1:-build/release/bin}
out=$(mktemp)
trap 'rm -f "$out"' EXIT
{
  cat <<'TEXT'
# Configuration

Made by `scripts/make_docs.sh`; a test compares. A flag beats its environment variable, which beats the default; of
several flags the last one wins. An empty variable counts as unset. Every process prints its effective options at start;
`--help` shows the same list. `scripts/serve.sh` passes each flag to whichever processes know it.
TEXT
  for name in gateway gpu-worker cpu-tier doctor; do
    printf '\n## hearth-%s\n\n' "$name"
    env -i "$bin/hearth-$name" --print-config-markdown
  done
} >"$out"
if [ "${2:-}" = --check ]; then
  diff -u docs/config.md "$out" || { echo "make_docs: docs/config.md is stale; run scripts/make_docs.sh" >&2; exit 1; }
  python3 scripts/make_env.py "$bin" --check
else
  cp "$out" docs/config.md
  python3 scripts/make_env.py "$bin"
fi
