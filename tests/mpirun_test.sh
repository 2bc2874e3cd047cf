#!/usr/bin/env bash
# mpirun_test.sh HSTU SOURCE: ranks that are processes. Each run has a time limit.
set -euo pipefail
hstu="$1"
source="$2"
model="$source/examples/kuairand/model"
requests="$source/examples/kuairand/requests.jsonl"
work="$(mktemp --directory)"
trap 'rm -rf "$work"' EXIT

ranks() { timeout 60 mpirun --allow-run-as-root --oversubscribe -np "$@"; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

"$hstu" rank --model "$model" --requests "$requests" --threads 1 >"$work/one"

# Bit for bit, whatever is shared.
same_as_one() {
  ranks "$@" >"$work/many"
  cmp "$work/one" "$work/many" || fail "answers of: $*"
}
command=("$hstu" rank --model "$model" --threads 1)
same_as_one 2 "${command[@]}" --requests "$requests" --embed-tp-size 2
same_as_one 3 "${command[@]}" --requests "$requests" --embed-tp-size 3 --embed-tp-min-rows 1
same_as_one 2 "${command[@]}" --requests "$requests" --sp-size 2 --sp-exact --kv-cache
same_as_one 3 "${command[@]}" --requests - --dp <"$requests"

# Close, where sums are made in another order.
ranks 2 "${command[@]}" --requests "$requests" --heads-tp-size 2 >"$work/many"
[[ $(wc -l <"$work/many") -eq $(wc -l <"$work/one") ]] || fail "answers with --heads-tp-size"

# The same AUC, to the last digit.
"$hstu" preprocess --dataset kuairand --training --data-dir "$source/examples/kuairand/data" \
  --out-dir "$work/data" >"$work/log"
evaluate=("$hstu" eval --model "$model" --data "$work/data" --threads 1)
"${evaluate[@]}" --json "$work/one.json" >"$work/log"
ranks 3 "${evaluate[@]}" --dp --json "$work/many.json" >"$work/log"
tasks() { sed -n '/"tasks"/,/\]/p' "$1"; }
cmp <(tasks "$work/one.json") <(tasks "$work/many.json") || fail "AUC with --dp"

# Refused before loading: there is no such model to load.
if ranks 2 "${command[@]}" --requests "$requests" --heads-tp-size 3 2>"$work/err"; then
  fail "--heads-tp-size 3 of 4 heads"
fi
grep --quiet "heads-tp-size 3 doesn't divide" "$work/err" || fail "$(cat "$work/err")"

# lost SIGNAL: rank 1 is lost, and all end within 10 s with a message that names it.
lost() {
  rm -f "$work"/pid.* "$work/requests"
  mkfifo "$work/requests"
  # The pipe stays open until the ranks end.
  ranks 3 sh -c 'echo $$ >"$0/pid.$OMPI_COMM_WORLD_RANK"; exec "$@"' "$work" "${command[@]}" \
    --requests - --dp <"$work/requests" >"$work/out" 2>"$work/err" &
  local run=$!
  exec 9>"$work/requests"
  head --lines=1 "$requests" >&9
  until [[ -s "$work/out" ]]; do
    kill -0 "$run" || fail "$(cat "$work/err")"
    sleep 0.1
  done
  local begin=$SECONDS
  kill -"$1" "$(cat "$work/pid.1")"
  if wait "$run"; then fail "ranks went on without rank 1"; fi
  exec 9>&-
  ((SECONDS - begin <= 10)) || fail "it took $((SECONDS - begin)) s to end"
  grep --quiet 'rank 1' "$work/err" || fail "nobody named rank 1: $(cat "$work/err")"
}
lost STOP
lost KILL
printf 'ok\n'
