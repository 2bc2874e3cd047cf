#!/usr/bin/env bash
# Installs the Debian packages that the build needs; `setup.sh test` those of the tests as well.
# Does nothing where all are there. Needs root or sudo otherwise.
source "$(dirname "$0")/common.sh"

lists=(scripts/packages.txt)
if [[ "${1:-}" == test ]]; then lists+=(scripts/packages-test.txt); fi

missing=()
while read -r package; do
  status="$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)"
  if [[ "$status" != installed ]]; then missing+=("$package"); fi
done < <(cat "${lists[@]}")

if [[ ${#missing[@]} -eq 0 ]]; then
  say "Packages: all installed"
  exit
fi
say "Packages: installing ${missing[*]}"
as_root=()
if [[ "$(id -u)" -ne 0 ]]; then as_root=(sudo); fi
"${as_root[@]}" apt-get update --quiet=2 </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes \
  --no-install-recommends "${missing[@]}" </dev/null
