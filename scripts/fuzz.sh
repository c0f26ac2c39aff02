#!/usr/bin/env bash
# Runs the fuzzers of everything that reads text from outside, one after the other, under the address and
# undefined-behaviour sanitizers. Needs clang with its runtime, and installs both.
#
#   scripts/fuzz.sh [--seconds N] [FUZZER...]     default: 600 seconds each, all of them
#
# Fuzzers: json_request, chat_messages, tool_call, tokenizer. Inputs that gave new coverage stay in build/fuzz/corpus and
# are where the next run begins; an input that fails is kept in build/fuzz/failures, and the program takes it as an
# argument to repeat the failure. The exit status is not 0 when one fails.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=600
if [ "${1:-}" = --seconds ]; then
  seconds=${2:?usage: scripts/fuzz.sh [--seconds N] [FUZZER...]}
  shift 2
fi
fuzzers=("$@")
[ ${#fuzzers[@]} -gt 0 ] || fuzzers=(json_request chat_messages tool_call tokenizer)
for fuzzer in "${fuzzers[@]}"; do
  if [ ! -f "tests/fuzz/${fuzzer}_fuzz.cc" ]; then
    echo "fuzz: no fuzzer $fuzzer; there are json_request, chat_messages, tool_call, tokenizer" >&2
    exit 2
  fi
done

scripts/install.sh --quiet clang libclang-rt-dev
scripts/build.sh fuzz "${fuzzers[@]/%/_fuzz}"

failed=()
for fuzzer in "${fuzzers[@]}"; do
  corpus=build/fuzz/corpus/$fuzzer failures=build/fuzz/failures/$fuzzer
  log=build/fuzz/$fuzzer.log
  mkdir -p "$corpus" "$failures"
  echo "=== $fuzzer, $seconds s"
  status=0
  # -timeout: one input may take so many seconds; leaks and memory beyond 2 GiB are failures too.
  nice "build/fuzz/fuzz/${fuzzer}_fuzz" "$corpus" "tests/fuzz/seeds/$fuzzer" -dict="tests/fuzz/$fuzzer.dict" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="$failures/" >"$log" 2>&1 || status=$?
  if [ $status -ne 0 ]; then
    tail -n 60 "$log"
    echo "=== $fuzzer: FAILED"
    failed+=("$fuzzer")
    continue
  fi
  awk '/^stat::number_of_executed_units/ {runs = $2} / cov: / {for (i = 1; i < NF; ++i) if ($i == "cov:") cov = $(i + 1)}
       END {printf "=== %s: ok, %s inputs, %s edges covered\n", name, runs, cov}' name="$fuzzer" "$log"
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "fuzz: FAILED: ${failed[*]}" >&2
  exit 1
fi
