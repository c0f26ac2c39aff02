#!/bin/bash
# Is the process of this container well? For health checks; bash alone, so that images need no HTTP client.
#   healthcheck gateway       it answers HTTP (whether a model is ready is what /health tells clients)
#   healthcheck gpu_worker    /metrics says that the model is loaded and requests are taken
#   healthcheck cpu_tier      /metrics answers
#   healthcheck all_in_one    /health is 200: the whole server answers
# A second word is the port, where it is not the usual one.
set -uo pipefail

get() {  # PORT PATH -> status line, head and body
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  # With TLS a plain request gets no answer: that the port takes connections must do.
  [ -z "${HEARTH_TLS_CERT:-}" ] || { echo "HTTP/1.1 200 connected"; return 0; }
  printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
  timeout 2 cat <&3
}

case ${1:-} in
  gateway) answer=$(get "${2:-30000}" /health/live) && [[ $answer == HTTP/1.* ]] ;;
  gpu_worker) answer=$(get "${2:-30101}" /metrics) && grep -qE '^hearth_worker_up(\{[^}]*\})? 1$' <<<"$answer" ;;
  cpu_tier) answer=$(get "${2:-30102}" /metrics) && [[ $answer == HTTP/1.?" 200 "* ]] ;;
  # 401 and 403: a key or a host name is asked for, by a gateway that serves.
  all_in_one) answer=$(get "${2:-${PORT:-30000}}" /health) && [[ $answer =~ ^HTTP/1\..\ (200|401|403)\  ]] ;;
  *)
    echo "healthcheck: expected gateway, gpu_worker, cpu_tier or all_in_one" >&2
    exit 2
    ;;
esac
