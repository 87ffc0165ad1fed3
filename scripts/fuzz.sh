#!/usr/bin/env bash
# Builds the fuzz targets of tests/fuzz with clang, libFuzzer, AddressSanitizer and
# UndefinedBehaviorSanitizer, and runs them one after another.
#
#   scripts/fuzz.sh                          every target, 600 seconds each
#   scripts/fuzz.sh --seconds 60 chat_request output_parser
#   scripts/fuzz.sh --jobs 2                 two targets at a time
#
# One line per target: executions, coverage (edges), result. Exit 1 on a finding; its input lies in
# build/fuzz/findings and is played again by `build/fuzz/bin/<target>_fuzz FILE`. What a run
# learns stays in build/fuzz/corpus for the next one. CI plays the seeds and mutations of them (ctest).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=600
jobs=1
targets=()

number() {
  [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || {
    echo "fuzz: $1 takes a positive number" >&2
    exit 2
  }
}

while (($#)); do
  case "$1" in
    --seconds)
      number "$@"
      seconds=$2
      shift
      ;;
    --jobs)
      number "$@"
      jobs=$2
      shift
      ;;
    -*)
      echo "fuzz: unknown option '$1'; known are --seconds N and --jobs N" >&2
      exit 2
      ;;
    *) targets+=("$1") ;;
  esac
  shift
done

known=()
for source in tests/fuzz/*_fuzz.cc; do
  source=${source##*/}
  known+=("${source%_fuzz.cc}")
done
for target in "${targets[@]}"; do
  [[ " ${known[*]} " == *" $target "* ]] || {
    echo "fuzz: no target '$target'; known are ${known[*]}" >&2
    exit 2
  }
done
if ((${#targets[@]} == 0)); then targets=("${known[@]}"); fi

build=build/fuzz
mkdir -p "$build/findings" "$build/logs"
cmake --preset fuzz >"$build/logs/configure.log" 2>&1 || {
  cat "$build/logs/configure.log"
  exit 1
}
cmake --build --preset fuzz -j "$(nproc)"

export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1

dictionary_of() {
  case "$1" in
    assembler | output_parser) echo output ;;
    request_head | chunked_body) echo http ;;
    model_config | safetensors | tokenizer_json) echo files ;;
    *) echo requests ;;
  esac
}

# Coverage as libFuzzer counts it: edges of the instrumented code.
run_target() {
  local target=$1 result=clean
  local log=$build/logs/$target.log
  mkdir -p "$build/corpus/$target"
  "$build/bin/${target}_fuzz" "$build/corpus/$target" "tests/fuzz/seeds/$target" \
    -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
    -dict="tests/fuzz/dictionaries/$(dictionary_of "$target").dict" \
    -artifact_prefix="$build/findings/$target-" -print_final_stats=1 >"$log" 2>&1 || result=FINDING
  local executions coverage
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
  coverage=$(grep -o 'cov: [0-9]*' "$log" | tail -n 1 || true)
  printf '%-22s %12s executions  %6s edges  %s\n' "$target" "${executions:-?}" \
    "${coverage#cov: }" "$result"
  if [[ $result != clean ]]; then
    grep -E -A 12 'FINDING:|ERROR:|runtime error:' "$log" | head -n 30
    return 1
  fi
}

failed=0
running=0
for target in "${targets[@]}"; do
  if ((running == jobs)); then
    wait -n || failed=1
    running=$((running - 1))
  fi
  run_target "$target" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
