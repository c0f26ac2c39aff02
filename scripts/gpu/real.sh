# shellcheck shell=bash disable=SC2154
# The real model's shape with random weights: 114 GB of experts in a tmpfs of their own, or in a folder of their own
# where mounting is not allowed. Wants $bin, $shape and $logs.

home=
home_mounted=0

# A tmpfs with OPTIONS, mounted at $home. Not allowed where this does not run as root.
mount_home() {  # OPTIONS
  home=$(mktemp -d "${TMPDIR:-/tmp}/hearth-gpu-home.XXXXXX")
  mount -t tmpfs -o "size=${HEARTH_GPU_HOME_GB:-112}g,$1" hearth-home "$home" 2>"$logs/mount.log" &&
    home_mounted=1 && return
  rmdir "$home"
  home=
  return 1
}

# A folder in the tmpfs that the worker would take, so that nothing of a home stays behind there.
own_home() {
  local place=/dev/shm
  [ -w /run/hearth ] && [ -x /run/hearth ] && place=/run/hearth
  home=$(mktemp -d "$place/hearth-gpu-home.XXXXXX") || { home=; return 1; }
  echo "gpu_check: no tmpfs may be mounted here ($(tail -n 1 "$logs/mount.log")); the home lies in $home, which is" \
    "removed at the end"
}

drop_home() {
  [ -n "$home" ] || return 0
  if [ $home_mounted = 1 ]; then
    umount "$home" || umount -l "$home"
    rmdir "$home"
  else
    rm -rf "$home"
  fi
  home=
  home_mounted=0
}
trap drop_home EXIT

real_bench() {  # STAGE NAME ARGUMENT...
  local stage=$1 name=$2 log code
  shift 2
  local arguments=(--model "synthetic:$shape" --device cuda --log-level warning --cpu-tier 127.0.0.1:31302
    --tier-binary "$bin/bin/hearth-cpu-tier" --vram-gb 24 --ec-max-slots 1312)
  [ -n "$home" ] && arguments+=(--home-dir "$home")
  [ -n "${HEARTH_GPU_RAM_GB:-}" ] && arguments+=(--assume-ram-gb "$HEARTH_GPU_RAM_GB")
  # shellcheck disable=SC2206  # words are meant
  arguments+=("$@" ${HEARTH_GPU_REAL_ARGS:-})
  run "$stage" "$name" "$bin/bench/engine_bench" "${arguments[@]}"
  code=$?
  log=$(log_of "$stage" "$name")
  [ -f "$log" ] && cat "$log"
  return $code
}

# What a log must or must not say, as a row.
expect() {  # STAGE WHAT LOG PATTERN
  if grep -q "$4" "$3" 2>/dev/null; then row "$1" "$2" ok 0; else row "$1" "$2" FAILED 0; fi
}

stage_real() {
  local log hit=(--hit-rate "${HEARTH_GPU_HIT_RATE:-0.39}" --prompt 512 --warm 400 --tokens 128)
  [ -x "$bin/bench/engine_bench" ] || { need_programs real ""; return; }
  if ! mount_home huge=within_size && ! own_home; then
    row real "no folder for the home" FAILED 0
    return
  fi
  real_bench real "home made, huge pages" --part start
  real_bench real "engine_bench" --part start,decode1,decode4,prefill8k,prefill32k,exactness,memory "${hit[@]}"
  log=$(log_of real engine_bench)
  expect real "the home was adopted" "$log" 'home .* adopted'
  if [ "${HEARTH_GPU_HIT_RATE:-0.39}" != 0 ] && ! grep -q 'wanted was not reached' "$log"; then
    expect real "hit rate as wanted" "$log" 'wanted 0\.'
  elif [ "${HEARTH_GPU_HIT_RATE:-0.39}" != 0 ]; then
    row real "hit rate as wanted" FAILED 0
  fi
  drop_home
}

# The same restart where pages have 4 KiB.
stage_restart4k() {
  [ -x "$bin/bench/engine_bench" ] || { need_programs restart4k ""; return; }
  if ! mount_home huge=never; then
    row restart4k "needs to mount a tmpfs" skipped 0
    return
  fi
  real_bench restart4k "home made, 4 KiB pages" --part start &&
    real_bench restart4k "restart, 4 KiB pages" --part start &&
    expect restart4k "the home was adopted" "$(log_of restart4k "restart, 4 KiB pages")" 'home .* adopted'
  drop_home
}
