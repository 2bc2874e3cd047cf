#!/usr/bin/env bash
# Builds build/hstu and build/libhstu.so. Arguments go to cmake, such as -DCMAKE_BUILD_TYPE=Debug.
source "$(dirname "$0")/common.sh"

say "Building build/hstu and build/libhstu.so"
cmake --preset release "$@" >/dev/null
cmake --build build --parallel "$JOBS" --target hstu_binary hstu_shared
