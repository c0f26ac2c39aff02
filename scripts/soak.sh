#!/usr/bin/env bash
# Long runs that say whether the server keeps its promises under load. Not part of the tests: they take minutes and the
# numbers mean something only on a machine that does nothing else.
#
#   scripts/soak.sh                          all parts at full length, about 12 minutes
#   scripts/soak.sh --short                  all parts, shortened to about 2 minutes
#   scripts/soak.sh PART [OPTION...]         one part; its options: scripts/soak.sh PART --help
#
# Parts: streams, latency, idle_connections, cancelled, malformed. HEARTH_BIN names the folder of the binaries (default:
# build/release/bin). Each part prints a table; the exit status is not 0 when one of them fails.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${HEARTH_CLIENTS_VENV:-$PWD/.cache/venv-clients}
export HEARTH_BIN=${HEARTH_BIN:-$PWD/build/release/bin}

case ${1:-} in
  -h | --help)
    sed -n '2,/^set /p' "$0" | sed '$d; s/^# \{0,1\}//'
    exit 0
    ;;
esac
if [ ! -x "$HEARTH_BIN/hearth-gateway" ]; then
  echo "soak: $HEARTH_BIN has no hearth-gateway: run scripts/build.sh release, or set HEARTH_BIN" >&2
  exit 2
fi
if [ -z "${HEARTH_CLIENTS_VENV:-}" ] && ! cmp -s tests/requirements-clients.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements-clients.txt
  cp tests/requirements-clients.txt "$venv/requirements.txt"
fi
# Each part opens hundreds of connections at both ends.
ulimit -n "$(ulimit -Hn)" || true

part() {  # NAME OPTION...
  local name=$1
  shift
  if [ "$name" = malformed ]; then
    (cd tests/clients && HEARTH_TEST_BODY_MS=${HEARTH_TEST_BODY_MS:-100} "$venv/bin/python" -m unittest test_malformed)
  elif [ -f "tests/soak/$name.py" ] && [ "$name" != common ]; then
    "$venv/bin/python" "tests/soak/$name.py" "$@"
  else
    echo "soak: no part $name; there are streams, latency, idle_connections, cancelled, malformed" >&2
    exit 2
  fi
}

if [ $# -gt 0 ] && [ "$1" != --short ]; then
  part "$@"
  exit
fi
failed=()
run() { part "$@" || failed+=("$1"); }
if [ "${1:-}" = --short ]; then
  run streams --seconds 20
  run latency --seconds 10
  run idle_connections --seconds 10 --tokens 100
  run cancelled --requests 300
else
  run streams
  run latency
  run idle_connections
  run cancelled
fi
run malformed
if [ ${#failed[@]} -gt 0 ]; then
  echo "soak: FAILED: ${failed[*]}" >&2
  exit 1
fi
echo "soak: all parts passed"
