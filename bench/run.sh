#!/usr/bin/env bash
# Runs one of the comparisons that need more than the build: builds what it measures, makes a Python
# environment of its own under build/, and passes the options on.
#
#   bench/run.sh peers     latency, memory and start beside torch, onnxruntime and openvino
#   bench/run.sh roofline  every operator against the peaks of the same run
#   bench/run.sh scaling   cost by length, batch and threads
#   bench/run.sh attention_update   the operator beside a merge in torch
source "$(dirname "$0")/../scripts/common.sh"

case "${1:-}" in
  peers | roofline | scaling | attention_update) ;;
  *)
    sed -n '/^#   /s/^# *//p' "$0" >&2
    exit 2
    ;;
esac

environment=build/venv-bench
if ! cmp --silent bench/requirements.txt "$environment/requirements.txt"; then
  say "Python packages of bench/requirements.txt"
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check \
    --requirement bench/requirements.txt
  cp bench/requirements.txt "$environment/"
fi

say "Build"
cmake --preset release
cmake --build --preset release --parallel "$JOBS" --target hstu_binary hstu_shared
if [[ "$1" == roofline ]]; then
  cmake --preset bench
  cmake --build --preset bench --parallel "$JOBS" --target operators_bench
fi

say "$1"
exec env PYTHONPATH=bench:python "$environment/bin/python" -m "hstu_bench.$1" "${@:2}"
