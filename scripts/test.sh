#!/usr/bin/env bash
# Everything that needs no GPU: release build, unit and golden tests, end-to-end tests with the real processes, subsets
# under the address and thread sanitizers. Sets itself up; about half an hour on two cores.
#
#   scripts/test.sh [STAGE...]      stages: unit e2e clients asan tsan cuda (default: all of them, in this order);
#                                   tsan-e2e, browser
#
# unit: gtest programs and comparisons with other implementations; e2e: the three real processes; clients: the openai,
# langchain-openai and llm packages, curl and gRPC against a server; asan, tsan: subsets under the sanitizers;
# cuda: the CUDA backend compiles and links where nvcc is there, its tests run where a GPU is; tsan-e2e: the three
# processes under the thread sanitizer, whose build takes minutes more; browser: the built-in page in headless Chromium,
# which is installed (half a gigabyte); pictures go to build/browser.
set -euo pipefail
cd "$(dirname "$0")/.."
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(unit e2e clients asan tsan cuda)
for name in "${stages[@]}"; do
  case $name in
    unit | e2e | clients | asan | tsan | tsan-e2e | cuda | browser) ;;
    -h | --help)
      sed -n '2,/^set /p' "$0" | sed '$d; s/^# \{0,1\}//'
      exit 0
      ;;
    *)
      echo "test: no stage $name; there are unit, e2e, clients, asan, tsan, tsan-e2e, cuda, browser" >&2
      exit 2
      ;;
  esac
done

scripts/install.sh --quiet
# A virtual environment in FOLDER with exactly what REQUIREMENTS lists.
environment() {  # FOLDER REQUIREMENTS
  cmp -s "$2" "$1/requirements.txt" && return
  rm -rf "$1"
  python3 -m venv "$1"
  "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
  cp "$2" "$1/requirements.txt"
}
environment .venv tests/requirements.txt
python=$PWD/.venv/bin/python3
jobs=$(nproc)
failed=()
# Debian's libraries are not instrumented: what only they touch is not ours to judge. The other builds ignore this.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1"

# Programs that run under sanitizers: everything that reads untrusted bytes, and everything with threads.
asan_tests=(gateway_text_fuzz_test gateway_text_golden_test gateway_http_test worker_loader_test common_expert_home_test
  common_expert_link_test common_ipc_test worker_experts_executor_test worker_scheduler_test)
tsan_tests=(common_ipc_test common_log_test gateway_http_test worker_experts_policy_test worker_experts_executor_test
  worker_scheduler_test)

stage() {  # NAME COMMAND...: runs, prints how long it took, remembers a failure
  local name=$1 begin=$SECONDS
  shift
  echo "=== $name"
  if "$@"; then
    echo "=== $name: ok, $((SECONDS - begin)) s"
  else
    echo "=== $name: FAILED, $((SECONDS - begin)) s"
    failed+=("$name")
  fi
}

run_tests() {  # PRESET TEST...
  local preset=$1 IFS='|'
  shift
  ctest --preset "$preset" -j "$jobs" -R "^($*)\$"
}

e2e() {  # PRESET SLOWDOWN PATTERN
  HEARTH_BIN=$PWD/build/$1/bin HEARTH_TEST_SLOWDOWN=$2 "$python" -m unittest discover -v -s tests/e2e -p "$3"
}

for name in "${stages[@]}"; do
  case $name in
    unit)
      stage "build release" scripts/build.sh release
      stage "unit, golden and link tests" ctest --preset release -j "$jobs"
      stage "entrypoint, dashboard, alerts" "$python" -m unittest discover -s tests/deploy
      stage "reference panels" "$python" -m unittest discover -s tests/reference
      stage "tokenizer against the tokenizers package" \
        "$python" tests/gateway/text/tokenizer_parity.py build/release/bin/hearth-text models/hearth-tiny
      stage "chat prompts against the template" \
        "$python" tests/gateway/text/template_parity.py build/release/bin/hearth-text
      stage "checkpoints of other shapes against the reference" \
        "$python" tests/gpu_worker/model/odd_checkpoints.py --bin build/release/tests/score_checkpoint
      ;;
    e2e)
      stage "build release" scripts/build.sh release
      stage "end to end" e2e release 1 'test_*.py'
      ;;
    clients)
      environment .venv-clients tests/requirements-clients.txt
      stage "build release" scripts/build.sh release
      stage "real clients" \
        env HEARTH_BIN="$PWD/build/release/bin" .venv-clients/bin/python3 -m unittest discover -v -s tests/clients
      ;;
    browser)
      scripts/install.sh --quiet chromium chromium-driver fonts-wqy-microhei
      stage "build release" scripts/build.sh release hearth-gateway hearth-gpu-worker hearth-cpu-tier
      stage "page in a browser" \
        env HEARTH_BIN="$PWD/build/release/bin" "$python" -m unittest discover -v -s tests/browser
      ;;
    asan)
      stage "build asan" scripts/build.sh asan "${asan_tests[@]}"
      stage "address and undefined-behaviour sanitizers" run_tests asan "${asan_tests[@]}"
      ;;
    tsan)
      stage "build tsan" scripts/build.sh tsan "${tsan_tests[@]}"
      stage "thread sanitizer" run_tests tsan "${tsan_tests[@]}"
      ;;
    tsan-e2e)
      stage "build tsan" scripts/build.sh tsan hearth-gateway hearth-gpu-worker hearth-cpu-tier
      stage "thread sanitizer, end to end" e2e tsan 10 test_at_once.py
      ;;
    cuda)
      if PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
        stage "build cuda" scripts/build.sh cuda hearth-gpu-worker hearth-gateway gpu_tests
        stage "tests on the GPU" ctest --preset cuda -L gpu
        stage "a GPU that cannot be used" e2e cuda 1 'test_gpu_refusals.py'
      else
        echo "=== cuda: SKIPPED, this machine has no nvcc (CUDA Toolkit), so the CUDA backend is not compiled"
      fi
      ;;
  esac
done

if [ ${#failed[@]} -gt 0 ]; then
  printf 'test: FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "test: all stages passed"
