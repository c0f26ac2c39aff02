#!/usr/bin/env bash
# What needs a GPU: every op against the host backend, the small model, memory and race checks, speed, and the real
# model's shape with random weights. Each stage can run alone and ends within ten minutes; a table closes the run.
#
#   scripts/gpu_check.sh [STAGE...]      build ops model transformers serve refusals sanitize bench real restart4k
#                                        (default: all, in this order)
#   scripts/gpu_check.sh visit checks | speed | STAGE...
#                                        for a machine that one has for minutes: nine in all, a share for each stage, none
#                                        waits for another's success. checks: ops model handoff refusals serve
#                                        transformers sanitize; speed: real restart4k
#   scripts/gpu_check.sh pack FOLDER     programs and the libraries they need as FOLDER/programs.tar.xz (about 14 MB), for
#                                        a machine that cannot build; unpacked there when HEARTH_GPU_BIN names FOLDER
#
# build     the CUDA backend and its programs (needs nvcc and the packages of scripts/install.sh)
# other     a worker without machine code for this GPU, for stage refusals (not in the default list; minutes)
# ops       every *_cuda_test of an op, each against the host's reference, several beside each other
# model     hearth-tiny against its panel, and exactness, on the GPU
# transformers  random models of odd shapes against transformers' glm5_next (needs Python with transformers and torch)
# serve     the three processes with the worker on the GPU: the panel over HTTP in both modes, the exact promise
# refusals  a GPU that cannot be used: refused in one line, or the CPU with a loud warning
# sanitize  compute-sanitizer's memcheck and racecheck over the op tests
# bench     *_cuda_bench: bytes moved, time, share of the ceiling
# handoff   of an empty CPU job, as the GPU sees it (one of bench)
# real      bench/engine/engine_bench on the real shape, at the hit rate wanted: 114 GB of host memory for the home, in a
#           folder of its own that is removed; FAILED also where a part was skipped or fast is too far from exact
# restart4k a restart of the real shape that adopts its home on 4 KiB pages
#
# HEARTH_GPU_BIN          a folder from `pack`, or a build folder; default build/cuda
# HEARTH_GPU_OUT          a folder for the table and the logs (logs.tar.gz), whole after every stage
# HEARTH_GPU_LOGS         folder of the logs while they are written; default build/gpu_check
# HEARTH_GPU_ONLY         patterns of program names for ops, sanitize and bench, for example 'mla_* kda_*'
# HEARTH_GPU_SIDE_BY_SIDE programs of ops, transformers and sanitize beside each other; default half of the CPUs
# HEARTH_GPU_FILTER       gtest filter of stage sanitize; default leaves out the large and repeated cases
# HEARTH_GPU_TOOLS        of sanitize; default 'memcheck racecheck'
# HEARTH_GPU_TEST_SECONDS most seconds for one test of sanitize; default 100
# HEARTH_GPU_SEEDS        of transformers; default '1 2'
# HEARTH_GPU_SHAPE        shape of real and restart4k; default tools/synthetic/real_shape_flat.json
# HEARTH_GPU_HIT_RATE     that real looks for; default 0.39; 0: as the shape's router gives it
# HEARTH_GPU_RAM_GB       GiB of RAM to count on, where the machine shows less than it has
# HEARTH_GPU_HOME_GB      size of the home's tmpfs in GiB; default 112
# HEARTH_GPU_REAL_ARGS    arguments of engine_bench in real and restart4k, behind the script's own
set -uo pipefail
cd "$(dirname "$0")/.." || exit
bin=${HEARTH_GPU_BIN:-build/cuda}
other_worker=build/cuda-86/bin/hearth-gpu-worker
logs=${HEARTH_GPU_LOGS:-build/gpu_check}
out=${HEARTH_GPU_OUT:-}
shape=${HEARTH_GPU_SHAPE:-tools/synthetic/real_shape_flat.json}
only=${HEARTH_GPU_ONLY:-*}
stage_end=0
export PATH=$PATH:/usr/local/cuda/bin
. scripts/gpu/table.sh
. scripts/gpu/pack.sh
. scripts/gpu/sanitize.sh
. scripts/gpu/real.sh
[ -f "$bin/programs.tar.xz" ] && [ "${1:-}" != pack ] && { unpack || exit; }
[ -d "$bin/lib" ] && export LD_LIBRARY_PATH=$bin/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ -x "$bin/other/hearth-gpu-worker" ] && other_worker=$bin/other/hearth-gpu-worker
mkdir -p "$logs"

programs() {  # FOLDER PATTERN: names, or an empty list
  local pattern
  set -f
  for pattern in $only; do
    find "$bin/$1" -maxdepth 1 -type f -name "$2" -name "$pattern" -executable -printf '%f\n' 2>/dev/null
  done | sort -u
  set +f
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

stage_other() {
  run other configure cmake --preset cuda -B build/cuda-86 -DHEARTH_CUDA_ARCHITECTURES=86-real -DHEARTH_TESTS=OFF
  run other "worker for 8.6 alone" cmake --build build/cuda-86 --target hearth-gpu-worker
}

stage_ops() {
  local list name
  list=$(programs tests '*_cuda_test')
  need_programs ops "$list" || return
  for name in $list; do
    is_model_test "$name" || start ops "$name" 300 "$bin/tests/$name"
  done
  finish
}

stage_model() {
  local name
  for name in hearth_tiny_cuda_test exactness_cuda_test; do
    if [ -x "$bin/tests/$name" ]; then start model "$name" 300 "$bin/tests/$name"; else need_programs model ""; fi
  done
  finish
}

# A process per model; one for all, which says what is missing, where their names cannot be had.
start_transformers() {
  local seed model models check=(env OMP_NUM_THREADS=2 PYTHONUNBUFFERED=1 python3
    tests/gpu_worker/model/transformers_check.py --bin "$bin/tests/score_checkpoint" --device cuda)
  models=$(python3 -c 'import sys; sys.path.insert(0, "tests/gpu_worker/model")
from random_models import SHAPES; print(*SHAPES)' 2>/dev/null)
  [ -n "$models" ] || start transformers "all models" 300 "${check[@]}"
  for seed in ${HEARTH_GPU_SEEDS:-1 2}; do
    for model in $models; do
      start transformers "$model, seed $seed" 300 "${check[@]}" --only "$model" --seeds "$seed"
    done
  done
}

stage_transformers() {
  [ -x "$bin/tests/score_checkpoint" ] || { need_programs transformers ""; return; }
  start_transformers
  [ "${beside_the_next:-0}" = 1 ] && return
  finish
  report_transformers
}

report_transformers() { grep -hE '^(shape|[a-z0-9]+ +[0-9]+ )' "$logs"/transformers.*.log 2>/dev/null | sort -u; }

programs_path() { case $bin in /*) echo "$bin/bin" ;; *) echo "$PWD/$bin/bin" ;; esac; }

stage_serve() {
  [ -x "$bin/bin/hearth-gateway" ] || { need_programs serve ""; return; }
  local name
  for name in test_panel test_exactness; do
    run serve "$name over HTTP" env HEARTH_DEVICE=cuda HEARTH_BIN="$(programs_path)" \
      python3 -m unittest discover -v -s tests/e2e -p "$name.py"
  done
}

# A row per refusal, from unittest's own lines.
stage_refusals() {
  [ -x "$bin/bin/hearth-gateway" ] || { need_programs refusals ""; return; }
  local log name result known
  [ -x "$other_worker" ] && export HEARTH_OTHER_ARCH_WORKER=$other_worker
  run refusals "test_gpu_refusals" env HEARTH_BIN="$(programs_path)" \
    python3 -m unittest discover -v -s tests/e2e -p test_gpu_refusals.py
  log=$(log_of refusals test_gpu_refusals)
  while read -r name result; do
    case $result in ok) known=ok ;; skipped) known=skipped ;; *) known=FAILED ;; esac
    row refusals "${name//_/ }" "$known" 0
  done < <(awk '/^test_/ {name = substr($1, 6)}
    name != "" && match($0, /(^|\.\.\. )(ok|skipped|FAIL|ERROR)/) {
      result = substr($0, RSTART, RLENGTH); sub(/^\.\.\. /, "", result); print name, result; name = ""}' "$log")
  grep -oE 'gpu_worker: .*|another process left .*' "$log"
  [ -x "$bin/tests/memory_cuda_test" ] &&
    run refusals "host memory that cannot be registered" "$bin/tests/memory_cuda_test" --gtest_filter='*Registered*'
}

stage_bench() {
  local list name
  list=$(programs bench '*_cuda_bench')
  need_programs bench "$list" || return
  for name in $list; do
    run bench "$name" "$bin/bench/$name"
    cat "$(log_of bench "$name")"
  done
}

stage_handoff() {
  [ -x "$bin/bench/handoff_cuda_bench" ] || { need_programs handoff ""; return; }
  run handoff handoff_cuda_bench "$bin/bench/handoff_cuda_bench"
  cat "$(log_of handoff handoff_cuda_bench)"
}

all=(build ops model transformers serve refusals sanitize bench real restart4k)
checks=(ops model handoff refusals serve transformers sanitize)
speed=(real restart4k)
visit_seconds=535
# Most seconds of a stage in a visit; what the measurement on the real shape leaves is for the rest.
declare -A share=([ops]=60 [model]=60 [refusals]=60 [handoff]=30 [serve]=120 [real]=400 [restart4k]=135
  [transformers]=150 [sanitize]=150)
is_stage() { declare -F "stage_$1" >/dev/null; }

visiting=0
case ${1:-} in
  pack)
    [ $# -eq 2 ] || { echo "usage: scripts/gpu_check.sh pack FOLDER" >&2; exit 2; }
    pack "$2"
    exit
    ;;
  visit)
    visiting=1
    shift
    case ${1:-} in
      checks) set -- "${checks[@]}" ;;
      speed) set -- "${speed[@]}" ;;
      "") echo "usage: scripts/gpu_check.sh visit checks | speed | STAGE..." >&2; exit 2 ;;
    esac
    # Their races take longest to look for.
    HEARTH_GPU_TOOLS=${HEARTH_GPU_TOOLS:-racecheck}
    sanitize_only=${HEARTH_GPU_ONLY:-kda_* router_* linear_prefill_*}
    ;;
esac
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=("${all[@]}")
for stage in "${stages[@]}"; do
  is_stage "$stage" || { echo "gpu_check: no stage $stage; there are ${all[*]} other handoff, visit and pack FOLDER" >&2; exit 2; }
done
for stage in "${stages[@]}"; do
  stage_end=$((SECONDS + 580))
  if [ $visiting = 1 ]; then
    stage_end=$((SECONDS + ${share[$stage]:-100}))
    [ $stage_end -gt $visit_seconds ] && stage_end=$visit_seconds
  fi
  # Neither measures time: transformers takes CPUs, sanitize the GPU.
  beside_the_next=0
  [ $visiting = 1 ] && [ "$stage" = transformers ] && [[ " ${stages[*]} " == *" transformers sanitize "* ]] && beside_the_next=1
  if [ $visiting = 1 ] && [ "$stage" = sanitize ]; then only=$sanitize_only; fi
  "stage_$stage"
  save
done
if [ ${#started[@]} -gt 0 ]; then
  finish
  report_transformers
fi
echo
table
[ ${#rows[@]} -gt 0 ] && table >"$logs/table.txt"
save
if [ "$failures" -gt 0 ]; then
  echo "gpu_check: $failures failed or did not end"
  exit 1
fi
echo "gpu_check: nothing failed"
