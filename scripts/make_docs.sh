#!/usr/bin/env bash
# Writes docs/config.md and deploy/compose/.env from the binaries' own lists of options.
#   scripts/make_docs.sh [BIN_DIR] [--check]        default build/release/bin; --check only compares
set -euo pipefail
cd "$(dirname "$0")/.."
processes=(gateway gpu-worker cpu-tier doctor)
bin='' check=0
for word in "$@"; do
  case $word in
    --check) check=1 ;;
    -h | --help)
      sed -n '2,/^set /p' "$0" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    -*)
      echo "make_docs: no option $word; there is --check" >&2
      exit 2
      ;;
    *)
      [ -z "$bin" ] || { echo "make_docs: one folder of binaries, not also $word" >&2; exit 2; }
      bin=$word
      ;;
  esac
done
bin=${bin:-build/release/bin}
for name in "${processes[@]}"; do
  [ -x "$bin/hearth-$name" ] || { echo "make_docs: no hearth-$name in $bin; run scripts/build.sh release" >&2; exit 2; }
done
out=$(mktemp)
trap 'rm -f "$out"' EXIT
{
  cat <<'TEXT'
# Configuration

Made by `scripts/make_docs.sh`; a test compares. A flag beats its environment variable, which beats the default; of
several flags the last one wins. An empty variable counts as unset. Every process prints its effective options at start;
`--help` shows the same list. `scripts/serve.sh` passes each flag to whichever processes know it.
TEXT
  for name in "${processes[@]}"; do
    printf '\n## hearth-%s\n\n' "$name"
    env -i "$bin/hearth-$name" --print-config-markdown
  done
} >"$out"
if [ "$check" = 1 ]; then
  diff -u docs/config.md "$out" || { echo "make_docs: docs/config.md is stale; run scripts/make_docs.sh" >&2; exit 1; }
  python3 scripts/make_env.py "$bin" --check
else
  cp "$out" docs/config.md
  python3 scripts/make_env.py "$bin"
fi
