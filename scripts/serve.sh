#!/usr/bin/env bash
# Installs what is missing, builds, and serves a model with all three processes on this machine.
#
#   scripts/serve.sh [-m DIR] [--port N] [--host H] [--mode fast|exact] [any server flag]
#       Stays in the foreground, prints one line when ready, stops everything on SIGTERM or Ctrl-C. A worker or cpu_tier
#       that dies is started again. The default model is models/hearth-tiny, the default address 127.0.0.1:30000.
#   scripts/serve.sh --once ["TEXT"] [flags as above]
#       Starts on a free port, sends the chat TEXT at temperature 0, prints reasoning and answer, stops.
#
#   --metrics-port N   the worker's, and the CPU tier takes N + 1; 0: free ones. Without it 30101 and 30102, or free ones
#                 where these are taken
#   --keep-home   leave the expert home in place, so that the next start adopts it
#   --no-build    install and build nothing: use the binaries in build/release/bin, or in HEARTH_BIN, as they are
#   GLM53_ARGS    further flags, in the environment; those of the command line win
#   --help        this text; the flags of each process: build/release/bin/hearth-{gateway,gpu-worker,cpu-tier} --help
set -euo pipefail
caller=$PWD
cd "$(dirname "$(readlink -f "$0")")/.."
here=$PWD
bin=$here/build/release/bin

say() { echo "serve: $*" >&2; }
fail() {
  say "$*"
  exit 2
}

once=0 once_text="Explain zero-copy model offloading." text_given=0 keep_home=0 build=1 port=""
host=${HEARTH_HOST:-127.0.0.1} home_base="" model="" run="" home="" metrics=${HEARTH_METRICS_PORT:-}
passed=()
# Flags of the environment come before those of the command line, so that the latter win.
read -rd '' -a extra <<<"${GLM53_ARGS:-}" || true
set -- "${extra[@]+"${extra[@]}"}" "$@"
while [ $# -gt 0 ]; do
  case $1 in
    --once)
      once=1
      # A text may begin with a dash; what looks like a flag is one.
      if [ $# -gt 1 ] && [[ ! $2 =~ ^--?[A-Za-z][A-Za-z0-9_-]*(=.*)?$ ]]; then
        once_text=$2 text_given=1
        shift
      fi
      ;;
    --keep-home) keep_home=1 ;;
    --no-build) build=0 ;;
    -h | --help)
      sed -n '2,/^set /p' "$0" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    --port=*) port=${1#*=} ;;
    --host=*) host=${1#*=} ;;
    --home-dir=*) home_base=${1#*=} ;;
    -m=* | --model=* | --model-dir=*) model=${1#*=} ;;
    --metrics-port=*) metrics=${1#*=} ;;
    --grpc-listen | --grpc-listen=*) fail "--grpc-listen is chosen here; for other addresses start the processes one by one" ;;
    --port | --host | --home-dir | --metrics-port | -m | --model | --model-dir)
      [ $# -gt 1 ] || fail "$1 needs a value"
      case $1 in
        --port) port=$2 ;;
        --host) host=$2 ;;
        --home-dir) home_base=$2 ;;
        --metrics-port) metrics=$2 ;;
        *) model=$2 ;;
      esac
      shift
      ;;
    *) passed+=("$1") ;;
  esac
  shift
done

if [ $build = 1 ]; then
  scripts/install.sh --quiet
  # In a session of its own, so that a signal to this script alone ends the compilers too.
  setsid scripts/build.sh release hearth-gateway hearth-gpu-worker hearth-cpu-tier hearth-doctor hearth-home &
  building=$!
  trap 'kill -TERM -- "-$building"; wait "$building" || true; exit 143' TERM
  trap 'kill -TERM -- "-$building"; wait "$building" || true; exit 130' INT HUP
  wait "$building" || exit
  trap - TERM INT HUP
else
  bin=${HEARTH_BIN:-$bin}
fi
cd "$caller"  # every relative path is the caller's
absolute() { case $1 in "" | /*) echo "$1" ;; synthetic:*) echo "synthetic:$(absolute "${1#*:}")" ;; *) echo "$caller/$1" ;; esac }
bin=$(absolute "$bin")
for name in gateway gpu-worker cpu-tier; do
  [ -x "$bin/hearth-$name" ] || fail "$bin/hearth-$name is not built; leave --no-build out"
done

# Every other flag goes to whichever processes know it.
gateway_flags=() worker_flags=() tier_flags=()
declare -A takes_value
for name in gateway gpu-worker cpu-tier; do
  while read -r flag value; do takes_value["$name $flag"]=$value; done < <("$bin/hearth-$name" --print-flags)
done
set -- "${passed[@]+"${passed[@]}"}"
while [ $# -gt 0 ]; do
  flag=${1%%=*} words=("$1") known=0 wants_next=0
  for name in gateway gpu-worker cpu-tier; do
    [ "${takes_value["$name $flag"]:-0}" = 1 ] && [[ $1 != *=* ]] && wants_next=1
    [ "${takes_value["$name $flag"]:-0}" = opt ] && [[ $1 != *=* && ${2:-} =~ ^(true|false|0|1|yes|no|on|off)$ ]] && wants_next=1
  done
  if [ $wants_next = 1 ]; then
    [ $# -gt 1 ] || fail "$1 needs a value"
    words+=("$2")
  fi
  [ -n "${takes_value["gateway $flag"]:-}" ] && gateway_flags+=("${words[@]}") && known=1
  [ -n "${takes_value["gpu-worker $flag"]:-}" ] && worker_flags+=("${words[@]}") && known=1
  [ -n "${takes_value["cpu-tier $flag"]:-}" ] && tier_flags+=("${words[@]}") && known=1
  if [ $known = 0 ] && [ $once = 1 ] && [[ $1 != -* ]]; then
    [ $text_given = 0 ] || fail "--once takes one text, in quotes; \"$1\" is another"
    once_text=$1 text_given=1 known=1
  fi
  [ $known = 1 ] || fail "no process knows $1; see --help of the binaries in $bin"
  shift "${#words[@]}"
done

model=$(absolute "${model:-${HEARTH_MODEL:-${GLM53_MODEL_DIR:-$here/models/hearth-tiny}}}")
home_base=$(absolute "${home_base:-${HEARTH_HOME_DIR:-}}")
gateway_option() {  # FLAG ENVIRONMENT: its value as the gateway will see it, "" when it has none
  local i value=${!2:-}
  for ((i = 0; i < ${#gateway_flags[@]}; i++)); do
    case ${gateway_flags[i]} in "$1") value=${gateway_flags[i + 1]:-} ;; "$1"=*) value=${gateway_flags[i]#*=} ;; esac
  done
  echo "$value"
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
if [ -z "$port" ]; then
  if [ $once = 1 ]; then port=0; else port=${HEARTH_PORT:-${PORT:-30000}}; fi
fi
[ "$port" != 0 ] || port=$(free_port)
url_host=$host
case $host in 0.0.0.0) url_host=127.0.0.1 ;; ::) url_host='[::1]' ;; *:*) url_host="[$host]" ;; esac
scheme=http
[ -z "$(gateway_option --tls-cert HEARTH_TLS_CERT)" ] || scheme=https
url=$scheme://$url_host:$port

# Another server on our port would answer our own questions about health.
listens() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }
if [[ $port =~ ^[0-9]{1,5}$ ]] && listens "$(tr -d '[]' <<<"$url_host")" "$port"; then
  fail "port $port of $host is in use; stop what listens there or choose another --port"
fi
# A second server may run beside us, or start at this moment: the usual metrics ports are ours when they are free and
# nobody else holds the lock of those who take them, else they are any (0).
ports_lock=""
if [ -z "$metrics" ]; then
  metrics=0
  if [ $once = 0 ] && ! listens 127.0.0.1 30101 && ! listens 127.0.0.1 30102 &&
    exec {ports}>"${TMPDIR:-/tmp}/hearth-metrics-ports.lock" && flock -n "$ports"; then
    ports_lock=${TMPDIR:-/tmp}/hearth-metrics-ports.lock metrics=30101
  fi
fi 2>/dev/null
worker_flags+=(--metrics-port "$metrics")
if [[ $metrics =~ ^[1-9][0-9]{0,4}$ ]]; then metrics=$((metrics + 1)); fi
tier_flags+=(--metrics-port "$metrics")

# One question says little about which experts are popular, and leaves nothing behind.
[ $once = 0 ] || worker_flags=(--popularity none "${worker_flags[@]+"${worker_flags[@]}"}")

declare -A pid_of
impatient=0
stop_child() {  # NAME SECONDS: SIGTERM, and SIGKILL when the time is over or a second signal came; 0: SIGKILL
  local pid=${pid_of[$1]:-} tenth
  [ -n "$pid" ] || return 0
  unset "pid_of[$1]"
  [ "$2" = 0 ] || kill -TERM "$pid" 2>/dev/null || true
  for ((tenth = 0; tenth < $2 * 10; tenth++)); do
    kill -0 "$pid" 2>/dev/null && [ $impatient = 0 ] || break
    sleep 0.1 || true
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}
cleanup() {
  trap 'impatient=1' TERM INT HUP
  [ -z "${serving:-}" ] || say "stopping; requests that run have 30 s to end, a second signal ends them now"
  stop_child question 1
  stop_child gateway 40
  stop_child gpu-worker 20
  stop_child cpu-tier 5
  trap '' TERM INT HUP
  [ -z "$run" ] || rm -rf "$run"
  [ -z "$ports_lock" ] || rm -f "$ports_lock"
  [ $keep_home = 1 ] || [ -z "$home" ] || rm -rf "$home"
}
trap cleanup EXIT
# A server that is told to end has done its work; a question that is broken off has no answer.
end_on_signals() {
  trap 'exit $((once * 143))' TERM
  trap 'exit $((once * 130))' INT HUP
}
end_on_signals

# Folders of our own make it certain that only our files are removed at the end. We and our children hold a lock on each,
# so what a killed predecessor left is known by its free lock, and removed.
own_folder() {  # VARIABLE PREFIX
  local left made told=""
  for left in "$2".??????; do
    [ ! -f "$left/serve.lock" ] || flock -n "$left/serve.lock" rm -rf "$left" || true
  done
  # A signal waits until `cleanup` knows the folder. A hang-up ends as Ctrl-C does.
  trap 'told=TERM' TERM
  trap 'told=INT' INT HUP
  made=$(trap '' TERM INT HUP && exec mktemp -d "$2.XXXXXX" 2>/dev/null) || fail "cannot write to $(dirname "$2"); ${3}"
  printf -v "$1" %s "$made"
  end_on_signals
  [ -z "$told" ] || kill -s "$told" $$
  exec {lock}>"$made/new.lock"
  flock -n "$lock"
  mv "$made/new.lock" "$made/serve.lock"  # seen by others only once it is held
}
if [ -z "$home_base" ]; then
  home_base=/dev/shm
  [ -d /run/hearth ] && [ -w /run/hearth ] && home_base=/run/hearth
fi
# Sockets lie there, whose addresses take neither every character nor every length.
temporary=${TMPDIR:-/tmp}
[[ $temporary =~ ^/[A-Za-z0-9_./+-]{0,70}$ ]] || temporary=/tmp
own_folder run "$temporary/hearth" "set TMPDIR"
if [ $keep_home = 1 ]; then worker_home=$home_base; else
  own_folder home "$home_base/hearth-serve" "give another --home-dir"
  worker_home=$home
fi

# Children get a session of their own, so that Ctrl-C reaches this script alone, and end when this script is killed.
start() {  # NAME FLAG...
  local name=$1
  shift
  if [ $once = 1 ]; then
    setsid setpriv --pdeathsig TERM "$bin/hearth-$name" "$@" >>"$run/$name.log" 2>&1 &
  else
    setsid setpriv --pdeathsig TERM "$bin/hearth-$name" "$@" &
  fi
  pid_of[$name]=$!
}
start_tier() { start cpu-tier --grpc-listen "unix:$run/cpu_tier.sock" "${tier_flags[@]+"${tier_flags[@]}"}"; }
start_worker() {
  start gpu-worker -m "$model" --grpc-listen "unix:$run/worker.sock" --cpu-tier "unix:$run/cpu_tier.sock" \
    --home-dir "$worker_home" "${worker_flags[@]+"${worker_flags[@]}"}"
}
start_tier
start_worker
# A folder that the environment names for the worker is not the tokenizer's as well: -m may name another.
[ -n "${HEARTH_MODEL_DIR:-}" ] || unset GLM53_MODEL_DIR
start gateway --host "$host" --port "$port" --worker "unix:$run/worker.sock" "${gateway_flags[@]+"${gateway_flags[@]}"}"

# What the gateway wants of a client. In a file, so that no list of processes shows a key.
{
  key=$(gateway_option --api-key HEARTH_API_KEY) keys=$(gateway_option --api-key-file HEARTH_API_KEY_FILE)
  [ -n "$key" ] || [ ! -r "$keys" ] || key=$(grep -m 1 -vE '^[[:space:]]*(#|$)' "$keys" | sed 's/^[[:space:]]*//; s/[[:space:]]*$//' || true)
  [ -z "$key" ] || echo "Authorization: Bearer ${key%%,*}"
  known_host=$(gateway_option --allowed-hosts HEARTH_ALLOWED_HOSTS)
  [ -z "$known_host" ] || echo "Host: ${known_host%%,*}"
} >"$run/headers"
# This machine is asked, whatever proxy is set, and our own certificate need not be signed for its address.
health() { curl -sk --noproxy '*' -m 2 -H "@$run/headers" "$@" "$url/health"; }

give_up() {  # CODE REASON: which is what is read last, so the others get no time for words
  stop_child gateway 0
  stop_child cpu-tier 0
  [ $keep_home = 1 ] || stop_child gpu-worker 0
  say "$2"
  exit "$1"
}

# Before the server was ready once, an exit is a refusal with its own line: pass the code on.
while ! health -f -o /dev/null; do
  for name in gateway gpu-worker cpu-tier; do
    if ! kill -0 "${pid_of[$name]}" 2>/dev/null; then
      code=0
      wait "${pid_of[$name]}" || code=$?
      unset "pid_of[$name]"
      # In its own words, without the log around them.
      [ $once = 0 ] || grep -v '^[0-9T:.-]*Z ' "$run/$name.log" | tail -n 20 >&2 || true
      give_up $((code == 0 ? 1 : code)) "hearth-$name did not start (exit code $code)"
    fi
  done
  # The gateway alone would wait for a tokenizer that can be read some day. One that it is reading comes.
  case $(health) in
    *'"problem":"no tokenizer yet"'*) ;;
    *'"state":"no_tokenizer"'*)
      problem=$(health | python3 -c 'import json, sys; print(json.load(sys.stdin)["problem"])' || true)
      give_up 2 "${problem/--model-dir names/HEARTH_MODEL_DIR names the gateway}"
      ;;
    *'"error":'*) give_up 2 "the gateway refuses this script's own requests: $(health)" ;;
  esac
  sleep 0.05
done

if [ $once = 1 ]; then
  # The CPU tier attaches within moments; asking before that is right as well, only less of a show.
  python3 "$here/scripts/ask.py" --url "$url" --headers "$run/headers" -- "$once_text" &
  pid_of[question]=$!  # waited for, and not run in the foreground, where a signal would have to wait for its end
  wait "${pid_of[question]}" || {
    grep -hE '^[0-9T:.-]*Z  *(warning|error) ' "$run"/*.log | grep -v 'state=loading' | tail -n 20 >&2 || true
    exit 1
  }
  exit 0
fi

serving=1
echo "hearth: ready on $url, model $(basename "$model"); Ctrl-C stops it"

# Supervise. The delay doubles with every crash and starts over after a minute of peace.
declare -A delay=([gpu-worker]=2 [cpu-tier]=2) due=() since=([gpu-worker]=$SECONDS [cpu-tier]=$SECONDS)
while true; do
  # Looked for and not waited for: a child that ended before `wait -n` began may never be told by it.
  sleep 0.5 || true
  kill -0 "${pid_of[gateway]}" 2>/dev/null || { unset 'pid_of[gateway]'; fail "the gateway ended; stopping"; }
  for name in gpu-worker cpu-tier; do
    if [ -n "${pid_of[$name]:-}" ] && ! kill -0 "${pid_of[$name]}" 2>/dev/null; then
      code=0
      wait "${pid_of[$name]}" || code=$?
      unset "pid_of[$name]"
      [ $((SECONDS - since[$name])) -gt 60 ] && delay[$name]=2
      say "hearth-$name ended with code $code; starting it again in ${delay[$name]} s"
      due[$name]=$((SECONDS + delay[$name]))
      delay[$name]=$((delay[$name] * 2 > 30 ? 30 : delay[$name] * 2))
    elif [ -n "${due[$name]:-}" ] && [ $SECONDS -ge "${due[$name]}" ]; then
      unset "due[$name]"
      since[$name]=$SECONDS
      if [ "$name" = gpu-worker ]; then start_worker; else start_tier; fi
    fi
  done
done
