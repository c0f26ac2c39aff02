#!/bin/bash
# What the worker's and the all-in-one image start: checks the machine, fetches the checkpoint when there is none, serves.
#   docker run .. IMAGE [FLAG ..]         flags are appended; of several the last one wins; --help and --version only answer
#   docker run .. IMAGE COMMAND ..        anything that is no flag runs as it is: bash, hearth-doctor, hearth-home ..
# Variables: GLM53_MODEL_DIR, GLM53_MODEL_REPO, GLM53_MODEL_REVISION, GLM53_MODEL_DOWNLOAD (1, or 0 to refuse), GLM53_ROOT,
# GLM53_ARGS (flags, before those of the command line), PORT, and every option's own (docs/config.md).
set -euo pipefail
root=${GLM53_ROOT:-/opt/hearth}
PATH=$root/bin:$PATH

say() { echo "hearth: $*" >&2; }
die() {
  say "ERROR: $*"
  exit 2
}

# Ends what runs at the moment when this container is stopped: as process 1, bash would ignore the signal.
running=""
trap '[ -z "$running" ] || kill "$running" 2>/dev/null || true; exit 143' TERM
trap '[ -z "$running" ] || kill "$running" 2>/dev/null || true; exit 130' INT
patiently() {  # COMMAND..: bash minds a signal while it waits, not while a command runs in front
  local code=0
  "$@" &
  running=$!
  wait "$running" || code=$?
  running=""
  return $code
}

downloads() { [ "${GLM53_MODEL_DOWNLOAD:-1}" = 1 ] && [ -x "$root/downloader/bin/python3" ]; }
if [ $# -gt 0 ] && [[ $1 != -* ]]; then
  # What hearth-doctor says of an empty folder depends on it.
  if [ "$1" = hearth-doctor ] && downloads; then export HEARTH_DOWNLOAD=${HEARTH_DOWNLOAD:-1}; fi
  exec "$@"
fi

# Questions about the program need neither machine nor model.
server=hearth-gpu-worker
[ "${HEARTH_ROLE:-all_in_one}" != all_in_one ] || server=$root/scripts/serve.sh
for word in "$@"; do
  case $word in
    --help) exec "$server" --help ;;
    --version | --print-flags | --print-config-markdown) exec hearth-gpu-worker "$word" ;;
  esac
done

# The model: the last -m of the command line, as the worker would take it. Options of the checks that come as variables
# reach them as variables, so that they name the right one when its value is wrong.
read -rd '' -a extra <<<"${GLM53_ARGS:-}" || true
flags=("${extra[@]+"${extra[@]}"}" "$@")
model=${HEARTH_MODEL:-${GLM53_MODEL_DIR:-${HEARTH_DEFAULT_MODEL:-/models}}}
home=${HEARTH_HOME_DIR:-} port=${HEARTH_PORT:-${PORT:-}} asked=()
[ -n "$port" ] || asked=(--port 30000) port=30000
for ((i = 0; i < ${#flags[@]}; i++)); do
  name=${flags[i]%%=*} value=${flags[i]#*=}
  [[ ${flags[i]} == *=* ]] || value=${flags[i + 1]:-}
  case $name in
    -m | --model | --model-dir) model=$value ;;
    --home-dir) home=$value ;;
    --mode | --device | --assume-ram-gb) asked+=("$name" "$value") ;;
    --port) port=$value asked+=(--port "$value") ;;
  esac
done
if [ -z "$home" ]; then
  home=/dev/shm
  mountpoint -q /run/hearth 2>/dev/null && home=/run/hearth
fi

# A checkpoint is there when config.json is and no download of ours was cut off. A synthetic model is made, not read.
whole() { [[ $model == synthetic:* ]] || { [ -f "$model/config.json" ] && [ ! -e "$model/.hearth-downloading" ]; }; }
fetch=0
if ! whole; then
  [ "${GLM53_MODEL_DOWNLOAD:-1}" = 1 ] || die "no checkpoint in $model, and GLM53_MODEL_DOWNLOAD is not 1; mount one there"
  [ -x "$root/downloader/bin/python3" ] || die "no checkpoint in $model; mount one there (this image does not download)"
  # A fresh disk has lost+found, and a download that never began leaves the client's own folder.
  foreign=$(ls -A "$model" 2>/dev/null | grep -vxE '\.cache|lost\+found' || true)
  if [ ! -e "$model/.hearth-downloading" ] && [ -n "$foreign" ]; then
    die "$model has files but no config.json, so it is no checkpoint and not empty either; mount another folder there"
  fi
  fetch=1
fi

if [ "$(id -u)" = 0 ]; then
  # Mounted folders usually belong to root; the server does not run as root.
  mkdir -p "$home"
  [ "$home" = /dev/shm ] || chown hearth:hearth "$home"
  as_hearth=(setpriv --reuid=hearth --regid=hearth --clear-groups --inh-caps=-all --no-new-privs)
fi
doctor=(hearth-doctor -m "$model" --home-dir "$home" "${asked[@]+"${asked[@]}"}")
# The gateway's port and tokenizer are this container's own business only where the gateway is.
[ "${HEARTH_ROLE:-}" = all_in_one ] || doctor+=(--tokenizer-dir elsewhere --port 0)
examine() {
  [[ $model != synthetic:* ]] || return 0
  local line checks=0
  # Its checks go to stdout, and nothing does when it cannot begin.
  while read -r line; do
    checks=$((checks + 1))
    echo "$line" >&2
  done < <(exec "${as_hearth[@]+"${as_hearth[@]}"}" "${doctor[@]}" "$@")
  wait $! && return
  [ $checks -gt 0 ] || die "hearth-doctor could not check this machine, see above"
  die "this machine cannot serve $model, see above; HEARTH_PREFLIGHT=warn goes on all the same"
}
# Before a download the needs are those of the usual model; of another repository they are known only afterwards.
if [ $fetch = 0 ]; then
  examine
elif [ -n "${GLM53_MODEL_REPO:-}" ]; then
  examine --download --preflight warn
else
  examine --download
fi

if [ $fetch = 1 ]; then
  # The client's own files lie on the model's disk: /tmp may be small.
  export HF_HOME=${HF_HOME:-$model/.cache/hub} HF_XET_CHUNK_CACHE_SIZE_BYTES=${HF_XET_CHUNK_CACHE_SIZE_BYTES:-0}
  patiently "$root/downloader/bin/python3" "$root/bin/download-model" --dir "$model" \
    ${GLM53_MODEL_REPO:+--repo "$GLM53_MODEL_REPO"} ${GLM53_MODEL_REVISION:+--revision "$GLM53_MODEL_REVISION"}
  whole || die "no whole checkpoint in $model"
  examine
fi

case ${HEARTH_ROLE:-all_in_one} in
  gpu_worker) exec hearth-gpu-worker -m "$model" --home-dir "$home" "${flags[@]+"${flags[@]}"}" ;;
  all_in_one)
    export HEARTH_BIN=$root/bin TMPDIR=${TMPDIR:-/tmp}
    exec "${as_hearth[@]+"${as_hearth[@]}"}" "$root/scripts/serve.sh" --no-build --keep-home --host 0.0.0.0 --port "$port" \
      -m "$model" --home-dir "$home" "${flags[@]+"${flags[@]}"}"
    ;;
  *) die "HEARTH_ROLE is \"$HEARTH_ROLE\", expected gpu_worker or all_in_one" ;;
esac
