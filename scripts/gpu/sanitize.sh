# shellcheck shell=bash disable=SC2154
# compute-sanitizer over the op tests: each test by itself, several beside each other, a row per program and tool.

# Of the programs that it was given; a row each. Tests are small there (HEARTH_SMALL_SHAPES); what is left out repeats
# launches, takes more rows than there are shared-memory cases, or provokes errors of CUDA's interface, which memcheck
# counts.
stage_sanitize() {
  local tool program test entry name log code took seconds slow failed good list begin others=()
  local tools=${HEARTH_GPU_TOOLS:-memcheck racecheck} limit=${HEARTH_GPU_TEST_SECONDS:-100}
  local filter=${HEARTH_GPU_FILTER:-'-*Real*:*Repeat*:*EveryRun*:*ManyRowsOfTheHead:*DeepSums:*EnoughTiles*:*PassesDoNotShow*:*NoRoomIsNull*:*CannotBeRegistered*'}
  if ! command -v compute-sanitizer >/dev/null; then
    row sanitize "no compute-sanitizer (CUDA Toolkit)" FAILED 0
    return
  fi
  list=$(programs tests '*_cuda_test')
  need_programs sanitize "$list" || return
  export HEARTH_SMALL_SHAPES=1
  begin=$SECONDS
  for program in $list; do
    is_model_test "$program" && continue
    for tool in $tools; do
      for test in $(tests_of "$program" "$filter"); do
        start sanitize "$program.$tool.$test" "$limit" compute-sanitizer --tool "$tool" --error-exitcode 9 \
          --print-limit 20 "$bin/tests/$program" --gtest_filter="$test"
      done
    done
  done
  wait
  echo "--- sanitize: ${#started[@]} tests in $((SECONDS - begin)) s"
  for program in $list; do
    is_model_test "$program" && continue
    for tool in $tools; do
      good=0 slow=() failed=() seconds=0
      for entry in "${started[@]}"; do
        IFS='|' read -r _ name log <<<"$entry"
        [[ $name == "$program.$tool."* ]] || continue
        read -r code took <"$log.code"
        # A tool that checked nothing has not found everything in order.
        [ "$code" != 0 ] || grep -q 'SUMMARY: 0 ' "$log" || code=8
        case $code in
          0) good=$((good + 1)) ;;
          124 | 137 | no) slow+=("${name##*."$tool".}") ;;
          *) failed+=("${name##*."$tool".}"); echo "$name: exit code $code"; tail -n 30 "$log" ;;
        esac
        seconds=$((seconds + took))
      done
      if [ ${#failed[@]} -gt 0 ]; then
        row sanitize "$program.$tool: ${#failed[@]} tests" FAILED "$seconds"
        echo "$program.$tool failed: ${failed[*]}"
      elif [ ${#slow[@]} -gt 0 ]; then
        row sanitize "$program.$tool: $good ok, ${#slow[@]} not ended" "too slow" "$seconds"
        echo "$program.$tool did not end: ${slow[*]}"
      elif [ "$good" -eq 0 ]; then
        row sanitize "$program.$tool: no tests" FAILED 0
      else
        row sanitize "$program.$tool: $good tests" ok "$seconds"
      fi
    done
  done
  for entry in "${started[@]}"; do
    if [[ $entry == sanitize\|* ]]; then rm -f "${entry##*|}.code"; else others+=("$entry"); fi
  done
  started=("${others[@]}")
  unset HEARTH_SMALL_SHAPES
}

# Names of the tests that a filter leaves.
tests_of() {  # PROGRAM FILTER
  "$bin/tests/$1" --gtest_list_tests --gtest_filter="$2" 2>/dev/null |
    awk '/^[A-Za-z].*\.$/ {suite = $1} /^  / {print suite $1}'
}
