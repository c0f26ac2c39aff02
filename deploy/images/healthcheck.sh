#!/bin/bash
# Is the process of this container well? For health checks; bash alone, so that images need no HTTP client.
#   healthcheck gateway       it answers HTTP (whether a model is ready is what /health tells clients)
#   healthcheck gpu_worker    /metrics says that the model is loaded and requests are taken
#   healthcheck cpu_tier      /metrics answers
#   healthcheck all_in_one    /health is 200: the whole server answers
# A second word is the port, where it is not the usual one. Where there is none, the process's own flag counts, then the
# variable that it reads: HEARTH_PORT, then PORT; HEARTH_METRICS_PORT. HEALTHCHECK_PROC stands for /proc,
# for tests.
set -uo pipefail

# The value of a flag on the command line of the program that runs here; fails when it has none.
flag_of() {  # PROGRAM FLAG
  local file words i found=1 value=""
  for file in "${HEALTHCHECK_PROC:-/proc}"/[0-9]*/cmdline; do
    words=()
    mapfile -d '' -t words <"$file" || continue
    [[ ${words[0]:-} =~ (^|/)"$1"$ ]] || continue
    for ((i = 1; i < ${#words[@]}; i++)); do
      case ${words[i]} in
        "$2") value=${words[i + 1]:-} found=0 ;;
        "$2"=*) value=${words[i]#*=} found=0 ;;
      esac
    done
    break
  done 2>/dev/null
  echo "$value"
  return $found
}

# A variable's value if it is a port: Kubernetes sets some of these names to addresses of services.
port_in() {  # VARIABLE...
  local name
  for name in "$@"; do
    [[ ${!name:-} =~ ^[0-9]+$ ]] && echo "${!name}" && return
  done
}

gateway_port() { flag_of hearth-gateway --port || port_in HEARTH_PORT PORT; }
metrics_port() { flag_of "$1" --metrics-port || port_in HEARTH_METRICS_PORT; }  # PROGRAM

get() {  # PORT PATH -> status line, head and body
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
  timeout 2 cat <&3
}

get_of_gateway() {  # PORT PATH: as get()
  local port=${1:-30000} cert
  cert=$(flag_of hearth-gateway --tls-cert) || cert=${HEARTH_TLS_CERT:-}
  if [ -z "$cert" ]; then
    get "$port" "$2"
  else
    # With TLS a plain request gets no answer: that the port takes connections must do.
    (exec 3<>"/dev/tcp/127.0.0.1/$port") && echo "HTTP/1.1 200 connected"
  fi
}

case ${1:-} in
  gateway)
    port=${2:-$(gateway_port)}
    answer=$(get_of_gateway "$port" /health/live) && [[ $answer == HTTP/1.* ]]
    ;;
  gpu_worker)
    port=${2:-$(metrics_port hearth-gpu-worker)}
    answer=$(get "${port:-30101}" /metrics) && grep -qE '^hearth_worker_up(\{[^}]*\})? 1$' <<<"$answer"
    ;;
  cpu_tier)
    port=${2:-$(metrics_port hearth-cpu-tier)}
    answer=$(get "${port:-30102}" /metrics) && [[ $answer == HTTP/1.?" 200 "* ]]
    ;;
  all_in_one)
    port=${2:-$(gateway_port)}
    # 401 and 403: a key or a host name is asked for, by a gateway that serves.
    answer=$(get_of_gateway "$port" /health) && [[ $answer =~ ^HTTP/1\..\ (200|401|403)\  ]]
    ;;
  *)
    echo "healthcheck: expected gateway, gpu_worker, cpu_tier or all_in_one" >&2
    exit 2
    ;;
esac
