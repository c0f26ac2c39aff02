# shellcheck shell=bash disable=SC2154
# Rows of gpu_check.sh's table, and programs that make them: one at a time, or several beside each other. A program gets
# what is left of its stage's time; exit code 77 is a test that says why it cannot run. Wants $logs, $out and $stage_end.

rows=()
failures=0

row() {  # STAGE WHAT RESULT SECONDS
  rows+=("$(printf '%-12s %-44s %-9s %5s' "$1" "$2" "$3" "$4")")
  case $3 in FAILED | "no time" | "too slow") failures=$((failures + 1)) ;; esac
  table >"$logs/table.txt"
}

table() {
  printf '%-12s %-44s %-9s %5s\n' stage what result s
  [ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}"
}

# The table and all logs so far, where HEARTH_GPU_OUT wants them: few files, and whole ones whenever the machine goes.
save() {
  [ -n "$out" ] || return 0
  mkdir -p "$out"
  cp "$logs/table.txt" "$out/table.txt" 2>/dev/null
  tar -czf "$out/logs.tar.gz.part" -C "$logs" . 2>/dev/null && mv "$out/logs.tar.gz.part" "$out/logs.tar.gz"
}

log_of() { printf '%s/%s.%s.log' "$logs" "$1" "$(printf '%s' "$2" | tr -c 'A-Za-z0-9._\n-' '_')"; }  # STAGE NAME

verdict() {  # STAGE NAME CODE SECONDS LOG
  case $3 in
    0) row "$1" "$2" ok "$4" ;;
    77) row "$1" "$2" skipped "$4"; grep -m1 SKIPPED "$5" ;;
    124 | 137) row "$1" "$2" "too slow" "$4"; echo "stopped after $4 s; the end of $5:"; tail -n 5 "$5" ;;
    *) row "$1" "$2" FAILED "$4"
       echo "exit code $3; the end of $5:"
       tail -n "${HEARTH_GPU_TAIL:-40}" "$5" ;;
  esac
}

run() {  # STAGE NAME COMMAND...
  local stage=$1 name=$2 begin=$SECONDS left=$((stage_end - SECONDS)) log code
  log=$(log_of "$1" "$2")
  shift 2
  if [ "$left" -le 5 ]; then
    row "$stage" "$name" "no time" 0
    return 1
  fi
  echo "--- $stage: $name"
  timeout -k 5 "$left" "$@" >"$log" 2>&1
  code=$?
  verdict "$stage" "$name" "$code" $((SECONDS - begin)) "$log"
  return "$code"
}

# Beside each other: `start` as many as wanted, then `finish`, which makes the rows in the order of starting.
started=()
side_by_side=${HEARTH_GPU_SIDE_BY_SIDE:-$(($(nproc) / 2 < 1 ? 1 : $(nproc) / 2))}

start() {  # STAGE NAME SECONDS COMMAND...: at most SECONDS, for others as they come
  local stage=$1 name=$2 limit=$3 log left
  log=$(log_of "$1" "$2")
  shift 3
  while [ "$(jobs -rp | wc -l)" -ge "$side_by_side" ]; do wait -n; done
  left=$((stage_end - SECONDS))
  [ "$left" -lt "$limit" ] && limit=$left
  started+=("$stage|$name|$log")
  rm -f "$log.code"
  if [ "$limit" -le 2 ]; then
    echo "no 0" >"$log.code"
    return
  fi
  (
    begin=$SECONDS
    timeout -k 5 "$limit" "$@" >"$log" 2>&1
    echo "$? $((SECONDS - begin))" >"$log.code"
  ) &
}

finish() {
  local entry stage name log code seconds
  wait
  for entry in "${started[@]}"; do
    IFS='|' read -r stage name log <<<"$entry"
    read -r code seconds <"$log.code"
    if [ "$code" = no ]; then row "$stage" "$name" "no time" 0; else verdict "$stage" "$name" "$code" "$seconds" "$log"; fi
    rm -f "$log.code"
  done
  started=()
}
