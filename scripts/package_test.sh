#!/usr/bin/env bash
# Installs build/ into a new prefix, builds the programs in examples/link against it as a user would,
# with CMake and with pkg-config, and runs them.
source "$(dirname "$0")/common.sh"

work="$(mktemp --directory)"
trap 'rm -rf "$work"' EXIT
prefix="$work/prefix"

cmake --install build --prefix "$prefix"
"$prefix/bin/hstu" --version
timeout 60 mpirun --allow-run-as-root --oversubscribe -np 2 "$prefix/bin/hstu" rank --dp \
  --model examples/kuairand/model --requests examples/kuairand/requests.jsonl >"$work/ranks.jsonl"

cmake -S examples/link -B "$work/link" -DCMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/link"
"$work/link/rank_cpp" examples/kuairand/model
"$work/link/rank_c" examples/kuairand/model
merged="$("$work/link/attention_update_c")"
printf '%s\n' "$merged"
grep --quiet '^0.6931: 2.0000 3.0000 4.0000$' <<<"$merged"
grep --quiet '^1.0000: 4.0000 5.0000 6.0000$' <<<"$merged"

pc="$(find "$prefix" -name hstu.pc)"
read -ra flags < <(PKG_CONFIG_PATH="$(dirname "$pc")" pkg-config --cflags --libs hstu)
cc examples/link/rank.c -o "$work/rank_pc" "${flags[@]}"
LD_LIBRARY_PATH="$(dirname "$(dirname "$pc")")" "$work/rank_pc" examples/kuairand/model

# Only the public API may be seen from outside.
exported="$(nm --dynamic --defined-only --demangle "$prefix"/lib*/libhstu.so |
  grep -vE ' (hstu::(Engine::|ErrorName)|hstu[A-Z])' || true)"
if [[ -n "$exported" ]]; then
  printf 'libhstu.so exports more than its API:\n%s\n' "$exported"
  exit 1
fi
