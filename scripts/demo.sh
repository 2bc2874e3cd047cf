#!/usr/bin/env bash
# The whole way on real data: raw logs to processed sequences, and these through the shipped model
# to the AUC of its eight tasks, beside two baselines.
source "$(dirname "$0")/common.sh"

scripts/setup.sh
scripts/build.sh

run() { printf '\n$ %s\n' "$*"; "$@"; }

say "Preprocessing 41,828 interactions of 664 users (KuaiRand, see examples/kuairand/data)"
run build/hstu preprocess --dataset kuairand --training \
  --log examples/kuairand/data/log_standard_4_08_to_4_21_sample.csv --out-dir build/demo

say "Ranking the last 8 videos of 200 users and comparing with what they did"
run build/hstu eval --model examples/kuairand/model --data build/demo
