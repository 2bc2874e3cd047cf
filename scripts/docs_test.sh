#!/usr/bin/env bash
# Runs the commands that the documentation shows: every ```sh block under a line `<!-- run -->`, the
# blocks of a file one after the other, in a folder that sees build/ and examples/.
source "$(dirname "$0")/common.sh"

# The marked blocks of a file.
commands_of() {
  awk '/^```/ { if (inside) print ""; inside = 0 }
       inside { print }
       /^```sh$/ { inside = marked }
       { marked = /^<!-- run -->$/ }' "$1"
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
printf 'the commands of %d files ran\n' "$count"
[[ $count -gt 0 ]]
