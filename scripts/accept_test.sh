#!/usr/bin/env bash
# Compiles the shipped models and accepts them. Correctness, fallbacks and hits decide; times and
# memory are reported.
source "$(dirname "$0")/common.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
echo '{"cold_start": null, "steady_step": null, "bucket_switch": null, "peak_memory": null}' \
  > "$work/limits.json"

# MovieLens is not shipped: its ids, in no order.
movie_requests() {
  awk 'BEGIN {
    srand(1)
    for (line = 0; line < 20; ++line) {
      items = actions = candidates = ""
      count = 5 + int(rand() * 90)
      for (i = 0; i < count; ++i) {
        items = items (i ? ", " : "") 1 + int(rand() * 1600)
        actions = actions (i ? ", " : "") int(rand() * 5)
      }
      for (i = 0; i < 8; ++i) candidates = candidates (i ? ", " : "") 1 + int(rand() * 1600)
      printf "{\"history\": {\"items\": [%s], \"actions\": [%s]}, \"candidates\": [%s]}\n", items, actions, candidates
    }
  }'
}

head -n 30 examples/kuairand/requests.jsonl > "$work/kuairand.jsonl"
movie_requests > "$work/ml-100k.jsonl"
for example in kuairand kuairand-hierarchical ml-100k ml-100k-hierarchical; do
  say "$example"
  requests="$work/${example%-hierarchical}.jsonl"
  build/hstu compile --model "examples/$example/model" --out "build/accept/$example" \
    --from-requests "$requests" --batch 1,8
  build/hstu accept --model "examples/$example/model" --artifacts "build/accept/$example" \
    --requests "$requests" --limits "$work/limits.json" --out "build/accept/$example-report"
done
