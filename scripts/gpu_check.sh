#!/usr/bin/env bash
# What needs a GPU: every op against the host backend, the small model, memory and race checks, speed, and the real
# model's shape with random weights. Each stage can run alone and ends within ten minutes; a table closes the run.
#
#   scripts/gpu_check.sh [STAGE...]      build ops model transformers serve sanitize bench real (default: all, in
#                                        this order)
#   scripts/gpu_check.sh pack FOLDER     programs and the libraries they need as FOLDER/programs.tar.xz (about 12 MB), for
#                                        a machine that cannot build; unpacked there when HEARTH_GPU_BIN names FOLDER
#
# build     the CUDA backend and its programs (needs nvcc and the packages of scripts/install.sh)
# ops       every *_cuda_test of an op, each against the host's reference
# model     hearth-tiny against its panel, and exactness, on the GPU
# transformers  random models of odd shapes against transformers' glm5_next (needs Python with transformers and torch)
# serve     the three processes with the worker on the GPU: the panel over HTTP in both modes, the exact promise
# sanitize  compute-sanitizer's memcheck and racecheck over the op tests
# bench     *_cuda_bench: bytes moved, time, share of the ceiling
# real      bench/engine/engine_bench on the real shape: 114 GB of host memory for the expert home
#
# HEARTH_GPU_BIN          a folder from `pack`, or a build folder; default build/cuda
# HEARTH_GPU_FILTER       gtest filter of stage sanitize; default leaves out the large and repeated cases
# HEARTH_GPU_REAL_ARGS    arguments of engine_bench in stage real, behind the script's own
# HEARTH_GPU_ONLY         pattern of program names for ops, sanitize and bench, for example 'mla_*'
# HEARTH_GPU_SHAPE        shape of stage real; default tools/synthetic/real_shape_flat.json, whose experts hit the cache
#                         at 39 % by the server's own admission
# HEARTH_GPU_LOGS         folder of the logs; default build/gpu_check
set -uo pipefail
cd "$(dirname "$0")/.." || exit
bin=${HEARTH_GPU_BIN:-build/cuda}
logs=${HEARTH_GPU_LOGS:-build/gpu_check}
shape=${HEARTH_GPU_SHAPE:-tools/synthetic/real_shape_flat.json}
only=${HEARTH_GPU_ONLY:-*}
stage_seconds=580
export PATH=$PATH:/usr/local/cuda/bin
# Programs that were brought along are unpacked once.
if [ -f "$bin/programs.tar.xz" ] && [ "${1:-}" != pack ]; then
  unpacked=${TMPDIR:-/tmp}/hearth-gpu-$(cksum <"$bin/programs.tar.xz" | tr ' ' -)
  if [ ! -d "$unpacked" ]; then
    mkdir -p "$unpacked.part"
    tar -xJf "$bin/programs.tar.xz" -C "$unpacked.part" 2>/dev/null ||
      python3 -m tarfile -e "$bin/programs.tar.xz" "$unpacked.part" || exit
    mv "$unpacked.part" "$unpacked"
  fi
  bin=$unpacked
fi
[ -d "$bin/lib" ] && export LD_LIBRARY_PATH=$bin/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$logs"
rows=()
failures=0
stage_end=0

row() {  # STAGE WHAT RESULT SECONDS
  rows+=("$(printf '%-12s %-38s %-9s %5s' "$1" "$2" "$3" "$4")")
  [ "$3" = FAILED ] && failures=$((failures + 1))
  return 0
}

# Runs a program under the rest of its stage's time and adds a row. Exit code 77 is a test that says why it cannot run.
run() {  # STAGE NAME COMMAND...
  local stage=$1 name=$2 begin=$SECONDS left code
  shift 2
  left=$((stage_end - SECONDS))
  if [ "$left" -le 5 ]; then
    row "$stage" "$name" "no time" 0
    failures=$((failures + 1))
    return
  fi
  local log=$logs/$stage.$name.log
  echo "--- $stage: $name"
  timeout -k 5 "$left" "$@" >"$log" 2>&1
  code=$?
  case $code in
    0) row "$stage" "$name" ok $((SECONDS - begin)) ;;
    77) row "$stage" "$name" skipped $((SECONDS - begin)); grep -m1 SKIPPED "$log" ;;
    *) row "$stage" "$name" FAILED $((SECONDS - begin))
       echo "exit code $code; the end of $log:"
       tail -n "${HEARTH_GPU_TAIL:-40}" "$log" ;;
  esac
}

programs() {  # FOLDER PATTERN: names, or an empty list
  find "$bin/$1" -maxdepth 1 -type f -name "$2" -name "$only" -executable -printf '%f\n' 2>/dev/null | sort
}

need_programs() {  # STAGE LIST
  [ -n "$2" ] && return 0
  row "$1" "no programs in $bin" FAILED 0
  echo "gpu_check: $1: no programs in $bin; run stage build first, or set HEARTH_GPU_BIN to a folder made by 'pack'" >&2
  return 1
}

is_model_test() { [ "$1" = hearth_tiny_cuda_test ] || [ "$1" = exactness_cuda_test ]; }

stage_build() {
  if [ -d "$bin/lib" ]; then
    row build "programs were brought along" skipped 0
    return
  fi
  if ! command -v nvcc >/dev/null; then
    row build "no nvcc (CUDA Toolkit)" FAILED 0
    return
  fi
  run build configure cmake --preset cuda -DHEARTH_BENCH=ON
  run build programs cmake --build --preset cuda --target gpu_tests gpu_benches engine_bench score_checkpoint \
    hearth-gpu-worker hearth-cpu-tier hearth-gateway
}

stage_ops() {
  local list name
  list=$(programs tests '*_cuda_test')
  need_programs ops "$list" || return
  for name in $list; do
    is_model_test "$name" || run ops "$name" "$bin/tests/$name"
  done
}

stage_model() {
  local name
  for name in hearth_tiny_cuda_test exactness_cuda_test; do
    if [ -x "$bin/tests/$name" ]; then run model "$name" "$bin/tests/$name"; else need_programs model ""; fi
  done
}

stage_transformers() {
  [ -x "$bin/tests/score_checkpoint" ] || { need_programs transformers ""; return; }
  run transformers transformers_check python3 tests/gpu_worker/model/transformers_check.py \
    --bin "$bin/tests/score_checkpoint" --device cuda
  cat "$logs/transformers.transformers_check.log"
}

stage_serve() {
  [ -x "$bin/bin/hearth-gateway" ] || { need_programs serve ""; return; }
  local programs=$bin/bin name
  case $programs in /*) ;; *) programs=$PWD/$programs ;; esac
  for name in test_panel test_exactness; do
    run serve "$name over HTTP" env HEARTH_DEVICE=cuda HEARTH_BIN="$programs" \
      python3 -m unittest discover -v -s tests/e2e -p "$name.py"
  done
}

stage_sanitize() {
  local list name tool filter=${HEARTH_GPU_FILTER:-'-*Real*:*Repeat*:*EveryRun*:*ManyRowsOfTheHead:*DeepSums:*EnoughTiles*'}
  if ! command -v compute-sanitizer >/dev/null; then
    row sanitize "no compute-sanitizer (CUDA Toolkit)" FAILED 0
    return
  fi
  list=$(programs tests '*_cuda_test')
  need_programs sanitize "$list" || return
  for name in $list; do
    is_model_test "$name" && continue
    for tool in memcheck racecheck; do
      run sanitize "$name.$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 \
        "$bin/tests/$name" --gtest_filter="$filter"
    done
  done
}

stage_bench() {
  local list name
  list=$(programs bench '*_cuda_bench')
  need_programs bench "$list" || return
  for name in $list; do
    run bench "$name" "$bin/bench/$name"
    cat "$logs/bench.$name.log"
  done
}

# The proper place of the home is a tmpfs of its own with huge pages; the folder that is there is taken otherwise.
stage_real() {
  [ -x "$bin/bench/engine_bench" ] || { need_programs real ""; return; }
  local arguments=(--model "synthetic:$shape" --log-level warning --cpu-tier 127.0.0.1:31302
    --tier-binary "$bin/bin/hearth-cpu-tier" --vram-gb 24 --ec-max-slots 1312
    --part "start,decode1,decode4,prefill8k,memory")
  # shellcheck disable=SC2206  # words are meant
  arguments+=(${HEARTH_GPU_REAL_ARGS:-})
  run real engine_bench "$bin/bench/engine_bench" "${arguments[@]}"
  cat "$logs/real.engine_bench.log"
}

# Names of the libraries that every machine with a C++ program has; the driver's own come with the driver.
system_library='^(linux-vdso|ld-linux|libc\.so|libm\.so|libdl|libpthread|librt\.so|libstdc\+\+|libgcc_s|libcuda\.so)'

pack() {  # FOLDER
  local out=$1 work file library kept
  work=$(mktemp -d)
  mkdir -p "$out" "$work/tests" "$work/bench" "$work/bin" "$work/lib"
  for file in "$bin"/tests/*_cuda_test "$bin"/bench/*_cuda_bench "$bin/bench/engine_bench" \
    "$bin/tests/score_checkpoint" "$bin"/bin/hearth-{cpu-tier,gpu-worker,gateway}; do
    [ -x "$file" ] || { echo "gpu_check: pack: $file is missing; run stage build" >&2; return 1; }
    kept=$work/$(basename "$(dirname "$file")")/$(basename "$file")
    strip --strip-unneeded -o "$kept" "$file" || return 1
    while read -r library; do
      [[ $(basename "$library") =~ $system_library ]] && continue
      [ -e "$work/lib/$(basename "$library")" ] && continue
      strip --strip-unneeded -o "$work/lib/$(basename "$library")" "$library" 2>/dev/null ||
        cp -L "$library" "$work/lib/"
    done < <(ldd "$file" | awk '$3 ~ /^\// {print $3}')
  done
  # The kernels are in every program; a window of 64 MiB stores them once.
  tar -cf - -C "$work" tests bench bin lib | xz --lzma2=preset=2,dict=64MiB -T1 >"$out/programs.tar.xz" || return 1
  rm -rf "$work"
  du -m "$out/programs.tar.xz" | awk '{print "gpu_check: packed " $1 " MiB into " $2}'
}

if [ "${1:-}" = pack ]; then
  [ $# -eq 2 ] || { echo "usage: scripts/gpu_check.sh pack FOLDER" >&2; exit 2; }
  pack "$2"
  exit
fi
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(build ops model transformers serve sanitize bench real)
for stage in "${stages[@]}"; do
  case $stage in
    build | ops | model | transformers | serve | sanitize | bench | real) ;;
    *)
      echo "gpu_check: no stage $stage; \
there are build, ops, model, transformers, serve, sanitize, bench, real, and pack FOLDER" >&2
      exit 2
      ;;
  esac
done
for stage in "${stages[@]}"; do
  stage_end=$((SECONDS + stage_seconds))
  "stage_$stage"
done
echo
printf '%-12s %-38s %-9s %5s\n' stage what result s
printf '%s\n' "${rows[@]}"
if [ "$failures" -gt 0 ]; then
  echo "gpu_check: $failures failed"
  exit 1
fi
echo "gpu_check: nothing failed"
