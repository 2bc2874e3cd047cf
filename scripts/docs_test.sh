#!/usr/bin/env bash
# Runs what the documentation shows: every ```sh block under a line `<!-- run -->`, the blocks of a
# file one after the other, in a folder that sees build/ and examples/; and the test in the files
# that docs/operators.md gives under `<!-- file: PATH -->`.
source "$(dirname "$0")/common.sh"
export PATH="$ROOT/build:$PATH"

# The marked blocks of a file.
commands_of() {
  awk '/^```/ { if (inside) print ""; inside = 0 }
       inside { print }
       /^```sh$/ { inside = marked }
       { marked = /^<!-- run -->$/ }' "$1"
}

# write_files FILE FOLDER: the files that a page gives, as they would lie in the repository.
write_files() {
  awk -v root="$2" '
    /^```/ { inside = 0 }
    inside { print > path }
    /^```cpp$/ && path != "" { inside = 1; system("mkdir -p $(dirname " path ")") }
    /^<!-- file: .* -->$/ { path = root "/" $3; next }
    !inside && !/^```/ { path = "" }' "$1"
}

# The operator of the worked example, compiled as src/kernels is.
operator_example() {
  local work="$1"
  write_files docs/operators.md "$work"
  g++ -std=c++20 -O1 -Wall -Wextra -Werror -ffp-contract=off -DHWY_COMPILE_ALL_ATTAINABLE \
    '-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_AVX3_DL)' -DHWY_SHARED_DEFINE \
    -I"$work/src" -Isrc -Iinclude "$work"/src/kernels/*.cc -o "$work/example_test" \
    build/src/kernels/libhstu_kernels.a build/src/base/libhstu_base.a -lhwy -lfmt \
    -lgtest_main -lgtest -pthread
  "$work/example_test"
}

count=0
for file in README.md DEVELOPERS.md docs/*.md examples/*/README.md; do
  commands="$(commands_of "$file")"
  if [[ -z "$commands" ]]; then continue; fi
  printf '== %s\n' "$file"
  work="$(mktemp --directory)"
  for name in build examples include tests; do ln -s "$ROOT/$name" "$work/$name"; done
  (cd "$work" && bash -euxo pipefail -c "$commands" </dev/null)
  rm -rf "$work"
  count=$((count + 1))
done

printf '== the example in docs/operators.md\n'
work="$(mktemp --directory)"
operator_example "$work"
rm -rf "$work"
printf 'the commands of %d files ran\n' "$count"
[[ $count -gt 0 ]]
