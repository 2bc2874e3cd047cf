#!/usr/bin/env bash
# Runs every check of the project, on a machine that has nothing yet: tests in a Release build and
# under sanitizers, fuzzers for some seconds each, the installed package, the documentation's
# commands, Python, format and lint. Goes on after a failure; the last line counts.
source "$(dirname "$0")/common.sh"

passed=0
failed=0
logs=build/checks

# count_tests LOG: adds up what ctest counted.
count_tests() {
  local total bad
  read -r bad total < <(sed -nE 's/.* ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$1")
  passed=$((passed + total - bad))
  failed=$((failed + bad))
}

# check NAME COMMAND...: runs one check, its output in a file that is shown if it fails.
check() {
  local name="$1" log="$logs/$1.log" start=$SECONDS status=0
  shift
  printf '%-28s' "$name"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if grep -q ' tests\? failed out of ' "$log"; then
    count_tests "$log"
  elif [[ $status -eq 0 ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  if [[ $status -eq 0 ]]; then
    printf 'ok      %4d s\n' $((SECONDS - start))
  else
    printf 'FAILED  %4d s, the end of %s:\n' $((SECONDS - start)) "$log"
    tail --lines=100 "$log"
  fi
}

# build PRESET [TARGET...]
build() {
  local preset="$1"
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$JOBS" ${1:+--target "$@"}
}

run_tests() {
  ctest --preset "$1" --parallel "$JOBS" --no-tests=error "${@:2}"
}

format() {
  git ls-files '*.cc' '*.h' '*.hpp' '*.c' | xargs clang-format-14 --dry-run -Werror
}

# What reads compile_commands.json understands clang's options, so it takes that build's.
lint() {
  git ls-files 'src/*.cc' ':!*_test.cc' | xargs --max-procs="$JOBS" --max-args=4 \
    build/venv/bin/clang-tidy -p build-fuzz --quiet
}

shell_syntax() {
  local file
  for file in scripts/*.sh .ci/run; do bash -n "$file"; done
}

# The tools of the Python checks, of the versions in python/requirements-check.txt.
python_tools() {
  python3 -m venv build/venv
  build/venv/bin/pip install --quiet --disable-pip-version-check \
    --requirement python/requirements-check.txt
}

in_python() { (cd python && "../build/venv/bin/$1" "${@:2}"); }

# The pattern is one of the folder that mypy runs in.
python_types() {
  (cd python && MYPYPATH=../bench ../build/venv/bin/mypy hstu_train tests ../bench/hstu_bench ../bench/*.py)
}

scripts/setup.sh test
mkdir -p "$logs"

say "Release build and its tests"
check build build release
check tests run_tests release
check instructions bench/instructions.py

say "AddressSanitizer, UndefinedBehaviorSanitizer and fuzzers"
check sanitized-build build fuzz
check sanitized-tests run_tests fuzz --exclude-regex '^fuzz\.'
check fuzzers run_tests fuzz --tests-regex '^fuzz\.'

say "ThreadSanitizer"
check tsan-build build tsan concurrent_tests
check tsan-tests run_tests tsan

say "Package and documentation"
check package scripts/package_test.sh
check docs scripts/docs_test.sh
check acceptance scripts/accept_test.sh

say "Python"
check python-tools python_tools
check python-tests in_python pytest --quiet
check python-format in_python ruff format --check . ../bench
check python-lint in_python ruff check . ../bench
check python-types python_types

say "Format and lint"
check format format
check shell-syntax shell_syntax
check lint lint

say "All checks took $SECONDS s"
printf '%d passed, %d failed\n' "$passed" "$failed"
[[ $failed -eq 0 ]]
