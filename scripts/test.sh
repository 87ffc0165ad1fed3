#!/usr/bin/env bash
# Sets up, builds and runs every test; the last line is `N passed, N failed, N skipped`.
#
#   scripts/test.sh                       the release build
#   scripts/test.sh --preset asan         AddressSanitizer and UndefinedBehaviorSanitizer
#   scripts/test.sh --preset tsan         ThreadSanitizer
#   scripts/test.sh --all                 release, asan and tsan
#
# Results lie in build/<preset>/results. With a sanitizer the golden tests run a smaller grid of
# chunk sizes; every test of the others runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=()
while (($#)); do
  case "$1" in
    --preset)
      [[ ${2:-} =~ ^(dev|release|asan|tsan)$ ]] || {
        echo "test: --preset takes dev, release, asan or tsan" >&2
        exit 2
      }
      presets+=("$2")
      shift
      ;;
    --all) presets=(release asan tsan) ;;
    *)
      echo "test: unknown option '$1'; known are --preset NAME and --all" >&2
      exit 2
      ;;
  esac
  shift
done
if ((${#presets[@]} == 0)); then presets=(release); fi

# A sanitizer's finding ends the program, so that no test passes over it.
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
# Tests that a hung process ends leave threads behind on purpose.
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:report_thread_leaks=0
TSAN_OPTIONS+=:suppressions=$PWD/tests/tsan.supp

jobs=$(nproc)

step() { printf '\n== %s (%s)\n' "$1" "$(date +%T)"; }

run_preset() {
  local preset=$1
  local build=build/$preset
  local results=$build/results
  rm -rf "$results"
  mkdir -p "$results/gtest"
  step "build $preset"
  cmake --preset "$preset" -DDI_BUILD_TESTS=ON >"$results/configure.log" 2>&1 ||
    { cat "$results/configure.log" && return 1; }
  # What follows must not run programs of an earlier build. (No `set -e` in a tested function.)
  cmake --build --preset "$preset" -j "$jobs" || return 1
  step "C++ tests, $preset"
  GTEST_OUTPUT=xml:$PWD/$results/gtest/ ctest --preset "$preset" -j "$jobs" \
    --output-junit "$PWD/$results/ctest.xml" || failed=1
  step "Python tests, $preset"
  local folder
  for folder in tests/layering tests/scripts tests/recipe_reference tests/e2e; do
    .venv/bin/python -m pytest -q "$folder" --junitxml="$results/pytest-${folder##*/}.xml" \
      --bin-dir "$build/bin" --build-kind "$preset" || failed=1
  done
}

failed=0
step "set up"
scripts/setup.sh
for preset in "${presets[@]}"; do
  run_preset "$preset" || failed=1
done

step "summary"
scripts/summarise_tests.py "${presets[@]/#/build/}" || failed=1
exit "$failed"
